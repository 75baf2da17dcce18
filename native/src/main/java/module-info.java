// SPDX-License-Identifier: Apache-2.0
/** The generated bindings of torchfeed's C++ facade; not intended for direct use. */
module io.torchfeed.bindings {
  requires transitive org.bytedeco.javacpp;
  requires transitive org.bytedeco.pytorch;

  exports io.torchfeed.bindings to
      io.torchfeed,
      org.bytedeco.javacpp;

  opens io.torchfeed.bindings to
      org.bytedeco.javacpp;
}
