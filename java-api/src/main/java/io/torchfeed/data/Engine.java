// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What makes the feeds of a loader; each pass has one for itself. */
interface Engine extends AutoCloseable {
  /**
   * Starts a feed.
   *
   * @throws IllegalStateException if its threads cannot be started
   */
  Feed createFeed();

  /** Lets go of the data; feeds that were made go on. */
  @Override
  void close();
}
