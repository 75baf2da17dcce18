// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.net.URI;
import java.util.Map;

/** The headers by which a request is allowed. They go to the host of the object only. */
@FunctionalInterface
interface RequestHeaders {
  /**
   * Returns the headers of a request without a body.
   *
   * @param uri of the request
   * @throws IOException if credentials cannot be had
   */
  Map<String, String> of(URI uri) throws IOException;
}
