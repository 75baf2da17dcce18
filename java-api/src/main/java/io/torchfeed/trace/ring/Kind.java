// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

/** The kinds of events. Their codes are a part of the format of dumps: new ones come last. */
public enum Kind {
  /** A step of a training loop. */
  STEP(0, "step"),

  /** The forward pass of a batch. */
  FORWARD(1, "forward"),

  /** From the end of a forward pass to the next work: backward, with its exchange. */
  BACKWARD(2, "backward"),

  /** The change of the parameters. */
  UPDATE(3, "update"),

  /** An operation that all ranks of a group call together. */
  COLLECTIVE(4, "collective"),

  /** A message from one rank to another. */
  MESSAGE(5, "message"),

  /** An operation of the reducer of a model. */
  REDUCTION(6, "reduction"),

  /** From the start of the exchange of the first bucket of gradients to the end of the last. */
  EXCHANGE(7, "exchange of gradients"),

  /** The wait of a consumer for a batch. */
  BATCH_WAIT(8, "wait for data"),

  /** The filling of a batch by a worker. */
  GATHER(9, "gather"),

  /** The copy of a batch to a device. */
  TRANSFER(10, "transfer"),

  /** A wait of a worker until there is room for another batch. */
  SLAB_WAIT(11, "wait for room"),

  /** A part of the program that it has named itself. */
  SECTION(12, "section");

  private final int code;
  private final String label;

  Kind(int code, String label) {
    this.code = code;
    this.label = label;
  }

  /** Returns the number in the format of dumps, the same as the place among all kinds. */
  public int code() {
    return code;
  }

  /** Returns the name in a timeline. */
  public String label() {
    return label;
  }

  /** Returns whether ranks are matched by the number of the event. */
  public boolean isMatched() {
    return this == COLLECTIVE || this == REDUCTION;
  }
}
