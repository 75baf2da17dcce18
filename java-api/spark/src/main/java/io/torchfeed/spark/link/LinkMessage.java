// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.link;

/** The kinds of messages from a rank to the driver: a byte each, followed by fields. */
enum LinkMessage {
  /** The number and digest of the rank's rows; answered by an empty text or a problem. */
  ROWS(1),
  /** An epoch and its metrics; not answered. */
  PROGRESS(2),
  /** The failure of the rank, serialized; answered once the job is being canceled. */
  FAILURE(3);

  private final int code;

  LinkMessage(int code) {
    this.code = code;
  }

  int code() {
    return code;
  }

  /**
   * Returns the kind with a code.
   *
   * @throws IllegalArgumentException if there is none
   */
  static LinkMessage of(int code) {
    for (LinkMessage kind : values()) {
      if (kind.code == code) {
        return kind;
      }
    }
    throw new IllegalArgumentException("no message of a rank has the code " + code);
  }

  /** More than a serialized failure or a text takes. */
  static final int MAX_BYTES = 1 << 24;

  /** The answer to a message without a problem. */
  static final String FINE = "";
}
