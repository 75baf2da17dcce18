// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

/** The rest of one shard, sample by sample. Used by one thread at a time, not always the same. */
public interface SampleStream extends AutoCloseable {
  /**
   * Writes the next sample: all elements of each column.
   *
   * <p>If it throws, the sample is lost or skipped, as the {@link FailurePolicy} says, and the next
   * call goes on with the one after it. A stream that cannot go on stays where it is; the shard is
   * given up for this pass then.
   *
   * @param sample takes the sample; valid in this call and thread only
   * @return false if there is none, and then nothing is written
   * @throws Exception if the sample cannot be made
   */
  boolean next(SampleWriter sample) throws Exception;

  /**
   * Where {@link StreamDataset#open} goes on with the sample that is next. Asked for once a batch.
   *
   * @return a short text; equal ones mean the same place
   * @throws Exception if the place cannot be told
   */
  String position() throws Exception;

  /**
   * Ends the stream, at its end or before. What it throws is lost.
   *
   * @throws Exception ignored
   */
  @Override
  default void close() throws Exception {}
}
