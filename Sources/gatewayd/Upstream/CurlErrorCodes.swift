import CCurl

/// What libcurl's error codes mean, by what was under way.
extension CurlEasy {
  /// What an error code of libcurl means here, with its last words.
  func problem(_ code: CURLcode) -> CurlProblem {
    let sentence = text.pointee == 0 ? curl_easy_strerror(code).map { String(cString: $0) } : String(cString: text)
    let line = sentence?.split(separator: "\n").first.map(String.init)
    return CurlProblem(kind: kind(of: code), text: line ?? "libcurl's error \(code.rawValue)", proxy: proxy)
  }

  private func kind(of code: CURLcode) -> CurlProblem.Kind {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST: .nameNotResolved
    case CURLE_COULDNT_RESOLVE_PROXY: .proxy(.nameNotResolved)
    case CURLE_PROXY: .proxy(socksRefusal)
    case CURLE_WRITE_ERROR where isTunnelHeadTooLong: .proxy(.longHead)
    case _ where tunnelStatus >= 300: .proxy(.status(tunnelStatus))
    case CURLE_COULDNT_CONNECT where isBeforeTunnel:
      isConnected
        ? .proxy(.brokeOff)
        : .proxy(.notConnected(Int32(truncatingIfNeeded: gw_easy_long(handle, CURLINFO_OS_ERRNO))))
    case CURLE_RECV_ERROR where isBeforeTunnel, CURLE_SEND_ERROR where isBeforeTunnel,
      CURLE_GOT_NOTHING where isBeforeTunnel, CURLE_WEIRD_SERVER_REPLY where isBeforeTunnel:
      .proxy(.brokeOff)
    case CURLE_COULDNT_CONNECT: .notConnected(Int32(truncatingIfNeeded: gw_easy_long(handle, CURLINFO_OS_ERRNO)))
    case CURLE_OPERATION_TIMEDOUT: .timedOut(reached)
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS: .certificateRefused
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .notPinned
    case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CACERT_BADFILE: .badCertificateFile
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED: .tls
    case CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: .hungUp
    case CURLE_UNSUPPORTED_PROTOCOL where isAnswering, CURLE_WEIRD_SERVER_REPLY: .notHTTP
    case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_UNSUPPORTED_PROTOCOL: .lost
    default: .other
    }
  }

  /// Whether it is the proxy that we speak to.
  private var isBeforeTunnel: Bool { proxy != nil && !isEncrypting && !isAnswering }

  /// What an HTTP proxy answered to CONNECT; 0 before it, and without one.
  var tunnelStatus: Int { gw_easy_long(handle, CURLINFO_HTTP_CONNECTCODE) }

  private var socksRefusal: CurlProblem.ProxyKind {
    let code = CURLproxycode(UInt32(truncatingIfNeeded: gw_easy_long(handle, CURLINFO_PROXY_ERROR)))
    return switch code {
    case CURLPX_NO_AUTH: .wantsLogin
    case CURLPX_USER_REJECTED: .loginRefused
    case CURLPX_REPLY_NOT_ALLOWED: .refused("its rules do not allow it")
    case CURLPX_REPLY_NETWORK_UNREACHABLE: .refused("the network is unreachable from there")
    case CURLPX_REPLY_HOST_UNREACHABLE: .refused("the host is unreachable from there")
    case CURLPX_REPLY_CONNECTION_REFUSED: .refused("the connection was refused")
    case CURLPX_REPLY_TTL_EXPIRED: .refused("the time to live expired on the way")
    case CURLPX_REPLY_COMMAND_NOT_SUPPORTED: .refused("it does not support the command")
    case CURLPX_REPLY_ADDRESS_TYPE_NOT_SUPPORTED: .refused("it does not support this kind of address")
    case CURLPX_REPLY_GENERAL_SERVER_FAILURE, CURLPX_REPLY_UNASSIGNED: .refused("it failed")
    case CURLPX_BAD_VERSION: .notSocks
    case CURLPX_RESOLVE_HOST: .targetNotResolved
    case CURLPX_CLOSED, CURLPX_RECV_CONNECT, CURLPX_RECV_AUTH, CURLPX_RECV_REQACK, CURLPX_RECV_ADDRESS,
      CURLPX_SEND_CONNECT, CURLPX_SEND_AUTH, CURLPX_SEND_REQUEST:
      .brokeOff
    default: .refused("it failed")
    }
  }
}
