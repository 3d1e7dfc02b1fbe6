// The C library's `environ` is a global variable; this program has one thread.
@preconcurrency import Glibc

/// The environment that commands inherit.
enum ChildEnvironment {
  /// A vector that ends with nil, valid until the next `setenv`.
  static var vector: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { environ }
}
