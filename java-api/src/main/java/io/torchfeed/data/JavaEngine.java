// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** Worker threads that run the code of a dataset. */
record JavaEngine(JavaFeedOptions options) implements Engine {
  @Override
  public Feed createFeed() {
    return new JavaFeed(options);
  }

  @Override
  public void close() {}
}
