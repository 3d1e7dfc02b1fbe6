/// What a session proves itself with: the members of the auth payload. Secret.
struct WAMPCredentials: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
  var authID: String?
  var authRole: String?
  /// For `ticket`.
  var ticket: String?
  /// A password, for `wampcra` and `scram`.
  var secret: String?
  /// The private Ed25519 key, 32 bytes, for `cryptosign`.
  var key: [UInt8]?
  /// Only these of the methods that are possible; nil for all of them.
  var methods: [WAMPMethod]?
  /// What of all that is possible one session makes use of; nil for everything.
  var offer: [WAMPMethod]?

  init(authID: String? = nil) { self.authID = authID }

  /// Reads a payload, a JSON object that was checked before. `authID` is the configured one, which the payload may name
  /// too. The problem's sentence never contains a value.
  init(_ payload: [UInt8]?, authID: String?) throws(CredentialProblem) {
    self.init(authID: authID)
    guard let payload else { return }
    guard let members = (try? JSONValue.parse(payload.span.bytes, limit: .max))?.members else {
      throw CredentialProblem("the credentials are no JSON object")
    }
    for member in members {
      switch member.key {
      case "authid": self.authID = try Self.text(member)
      case "authrole": authRole = try Self.text(member)
      case "ticket", "token": ticket = try Self.text(member)
      case "secret": secret = try Self.text(member)
      case "key": key = try Self.key(member)
      case "method": methods = try Self.methods(member)
      default:
        throw CredentialProblem(
          "the credentials have a member that WAMP does not know; use authid, authrole, ticket, secret, key and method")
      }
    }
    if let problem { throw CredentialProblem(problem) }
  }

  private var problem: String? {
    if authID == nil, ticket != nil || secret != nil { return "the credentials lack the member authid" }
    guard let methods else { return nil }
    let missing = methods.first { !sufficient.contains($0) }
    return missing.map { "the credentials name the method \($0.rawValue), but not what it needs" }
  }

  /// What these credentials are enough for.
  private var sufficient: [WAMPMethod] {
    var possible: [WAMPMethod] = []
    if key != nil { possible.append(.cryptosign) }
    if secret != nil { possible += [.scram, .wampScram, .wampcra] }
    if ticket != nil { possible.append(.ticket) }
    return possible.isEmpty ? [.anonymous] : possible
  }

  /// The methods that a router may be offered, the safest first.
  var possible: [WAMPMethod] {
    guard let methods else { return sufficient }
    return sufficient.filter { methods.contains($0) }
  }

  /// Those of them that the router is offered now.
  var offered: [WAMPMethod] { offer ?? possible }

  private static func text(_ member: JSONValue.Member) throws(CredentialProblem) -> String {
    guard let text = member.value.stringValue, !text.isEmpty else {
      throw CredentialProblem("the credentials' member \(member.key) is no text")
    }
    return text
  }

  private static func key(_ member: JSONValue.Member) throws(CredentialProblem) -> [UInt8] {
    guard let key = member.value.stringValue.flatMap(Hexadecimal.decode), key.count == 32 else {
      throw CredentialProblem("the credentials' member key is not 64 hexadecimal digits")
    }
    return key
  }

  private static func methods(_ member: JSONValue.Member) throws(CredentialProblem) -> [WAMPMethod] {
    guard let method = member.value.stringValue.flatMap(WAMPMethod.init(rawValue:)) else {
      let known = WAMPMethod.allCases.map(\.rawValue).joined(separator: ", ")
      throw CredentialProblem("the credentials' member method is none of \(known)")
    }
    return method == .scram ? [.scram, .wampScram] : [method]
  }

  var description: String { "credentials" }
  var customMirror: Mirror { Mirror(reflecting: description) }
}

/// The ways to prove an identity (WAMP section "Authentication Methods").
enum WAMPMethod: String, CaseIterable, Equatable, Sendable {
  case anonymous
  case ticket
  case wampcra
  /// As Autobahn and Crossbar.io name and compute it.
  case scram
  /// As the specification names and computes it.
  case wampScram = "wamp-scram"
  case cryptosign
}
