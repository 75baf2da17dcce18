// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.pass.DeliveredBatch;
import java.util.Arrays;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;

/**
 * The samples of one step: a tensor for each column of the dataset.
 *
 * <p>A batch from a pass is valid until the next one is taken or the pass is closed; the loader
 * ends it. {@link #keep} returns one that lasts. The memory of a batch is reused only when no
 * tensor refers to it any more: a view of it, a result computed from it, or an autograd graph may
 * outlive the batch. Not thread-safe.
 */
public final class Batch implements AutoCloseable {
  private final Batches pass; // keeps the pass reachable while one of its batches is in use
  private final DeliveredBatch content;
  private final boolean kept;

  /** Creates the batch that a consumer has taken. */
  Batch(Batches pass, DeliveredBatch content) {
    this(pass, content, false);
  }

  private Batch(Batches pass, DeliveredBatch content, boolean kept) {
    this.pass = pass;
    this.content = content;
    this.kept = kept;
  }

  private static Tensor copyOf(Tensor tensor) {
    return NativeHandle.outsideOfScopes(() -> new Tensor(tensor));
  }

  /**
   * Returns one column of the batch, {@code [size(), ...]} in the dtype of the dataset's column.
   *
   * <p>The tensor is a view of the loader's memory, on the loader's device, and belongs to the
   * batch, which closes it.
   *
   * @param column the number of the column, starting at 0
   * @return the tensor, the same object each time
   * @throws IllegalStateException if the batch has ended
   * @throws IndexOutOfBoundsException if there is no such column
   */
  public Tensor tensor(int column) {
    Tensor[] all = tensors();
    return all[Objects.checkIndex(column, all.length)];
  }

  /**
   * Returns the number of samples in the batch.
   *
   * @return the batch size; smaller in the last batch of an epoch, or of a shard of a stream, that
   *     does not divide evenly, and where samples were skipped; varies with a batch sampler
   */
  public int size() {
    return content.size;
  }

  /**
   * Returns the number of the batch in its epoch.
   *
   * @return the number, starting at 0
   */
  public long number() {
    return content.number;
  }

  /**
   * Returns the dataset indices of the samples, in the order of the rows; over a stream, the
   * numbers that {@link DataLoader} describes.
   *
   * @return a new array
   * @throws IllegalStateException if the batch has ended
   */
  public long[] indices() {
    requireNotEnded();
    return Arrays.copyOf(content.indices, content.size);
  }

  /**
   * Returns whether a sample is padding, added because the dataset does not divide evenly among the
   * ranks: an evaluation that leaves such rows out counts every sample once. Works for kept batches
   * too, while the pass is open.
   *
   * @param row the row of the sample, in [0, size())
   * @return true for padding
   * @throws IndexOutOfBoundsException if there is no such row
   * @throws IllegalStateException if the pass is closed
   */
  public boolean isPadding(int row) {
    int element = Objects.checkIndex(row, size());
    int[] elements = content.elements;
    return pass.isPadding(content.number, elements == null ? element : elements[element]);
  }

  /**
   * Returns the same batch for as long as the caller wants it, without a copy: its memory leaves
   * the loader, which allocates new memory for the next batch.
   *
   * @return a batch that the caller closes
   * @throws IllegalStateException if the batch has ended
   */
  public Batch keep() {
    synchronized (content) { // against a concurrent close
      Tensor[] all = tensors();
      Tensor[] kept = new Tensor[all.length];
      for (int i = 0; i < all.length; i++) {
        kept[i] = copyOf(all[i]);
      }
      return new Batch(pass, content.in(kept), true);
    }
  }

  private Tensor[] tensors() {
    requireNotEnded();
    return content.tensors;
  }

  private void requireNotEnded() {
    if (content.hasEnded()) {
      throw new IllegalStateException(
          (kept
                  ? "kept batch %d of epoch %d is closed"
                  : "batch %d of epoch %d has ended: the next one was taken, or its pass is over or"
                      + " closed; use it before that, or keep() it")
              .formatted(content.number, content.epoch));
    }
  }

  /** Ends the batch and frees its tensors. Idempotent; may be called by any thread. */
  @Override
  public void close() {
    content.close();
  }
}
