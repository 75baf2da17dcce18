// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** What an epoch would gain most from being faster. */
public enum Bottleneck {
  /** The step between two batches: data arrives in time. */
  CONSUMER("the consumer: data arrives in time"),

  /** The order: the sampler takes longer than the rows. */
  SAMPLER("the sampler: choose one that computes its order, or batches of more samples"),

  /** The code of a {@link Dataset}. */
  DATASET("the dataset: make its samples cheaper, or give the loader more workers"),

  /** The copying of rows out of memory or files. */
  GATHER("the gathering of rows: give the loader more workers, or store smaller rows"),

  /** The copy to the device. */
  TRANSFER("the transfer to the device: send smaller dtypes, and convert on the device"),

  /** The wait between batches, while workers are idle most of the time. */
  PREFETCH("too little prefetch: workers are idle while the consumer waits");

  private final String advice;

  Bottleneck(String advice) {
    this.advice = advice;
  }

  @Override
  public String toString() {
    return advice;
  }
}
