// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import java.util.Arrays;
import java.util.Objects;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The samples of one step: a tensor for each column of the dataset.
 *
 * <p>A batch from a pass is valid until the next one is taken or the pass is closed; the loader
 * ends it. {@link #keep} gives one that lasts. Its memory is reused only when no tensor refers to
 * it any more: a result computed from it, a view, or an autograd graph may live on. Not
 * thread-safe.
 */
public final class Batch implements AutoCloseable {
  private final PaddingRule pass;
  private final long index;
  private final long[] indices; // the pass's own and longer, unless kept or samples were skipped
  private final int size;
  private final long epoch;
  private final boolean kept;
  private final int @Nullable [] elements; // of the list of indices, where samples were skipped
  private final Tensor[] tensors;
  private volatile boolean ended;

  /**
   * A batch at the consumer.
   *
   * @param all the indices that were asked for, of which the first {@code requested} are the
   *     batch's
   */
  Batch(PaddingRule pass, long epoch, long[] all, int requested, Gathered gathered) {
    this.pass = pass;
    this.epoch = epoch;
    this.index = gathered.batch;
    this.kept = false;
    this.tensors = gathered.tensors;
    int[] rows = gathered.elements;
    this.elements = rows;
    this.indices = rows == null ? all : Arrays.stream(rows).mapToLong(row -> all[row]).toArray();
    this.size = rows == null ? requested : rows.length;
  }

  private Batch(Batch other, Tensor[] tensors) {
    this.pass = other.pass;
    this.index = other.index;
    this.epoch = other.epoch;
    this.indices = Arrays.copyOf(other.indices, other.size);
    this.size = other.size;
    this.elements = other.elements;
    this.kept = true;
    this.tensors = tensors;
  }

  private static Tensor copyOf(Tensor tensor) {
    return NativeHandle.outsideOfScopes(() -> new Tensor(tensor));
  }

  /**
   * One column of the batch, {@code [size(), ...]} in the dtype of the dataset's column.
   *
   * <p>The tensor is a view of the loader's memory, on the loader's device, and belongs to the
   * batch: it is closed with it.
   *
   * @param column the number of the column
   * @return the tensor, the same object each time
   * @throws IllegalStateException if the batch has ended
   * @throws IndexOutOfBoundsException if there is no such column
   */
  public Tensor tensor(int column) {
    Tensor[] all = tensors();
    return all[Objects.checkIndex(column, all.length)];
  }

  /**
   * The number of samples in the batch.
   *
   * @return the batch size, smaller for the last batch of an epoch that does not divide, and where
   *     samples were skipped
   */
  public int size() {
    return size;
  }

  /**
   * The number of the batch in its epoch.
   *
   * @return the number, from 0 on
   */
  public long index() {
    return index;
  }

  /**
   * The dataset indices of the samples, int64, in the order of the rows.
   *
   * @return a copy
   * @throws IllegalStateException if the batch has ended
   */
  public long[] indices() {
    requireNotEnded();
    return Arrays.copyOf(indices, size);
  }

  /**
   * Whether a sample only fills up, because the ranks do not divide the dataset: an evaluation that
   * leaves such rows out counts every sample once. While the pass is open, also of a kept batch.
   *
   * @param row the row of the sample, in [0, size())
   * @return true for padding
   * @throws IndexOutOfBoundsException if there is no such row
   * @throws IllegalStateException if the pass is closed
   */
  public boolean isPadding(int row) {
    int element = Objects.checkIndex(row, size());
    return pass.isPadding(index, elements == null ? element : elements[element]);
  }

  /**
   * The same batch for as long as the caller wants it, without a copy: its memory leaves the
   * loader, which takes new memory for the next one.
   *
   * @return a batch that the caller closes
   * @throws IllegalStateException if the batch has ended
   */
  public Batch keep() {
    Tensor[] all = tensors();
    Tensor[] kept = new Tensor[all.length];
    for (int i = 0; i < all.length; i++) {
      kept[i] = copyOf(all[i]);
    }
    return new Batch(this, kept);
  }

  private Tensor[] tensors() {
    requireNotEnded();
    return tensors;
  }

  private void requireNotEnded() {
    if (ended) {
      throw new IllegalStateException(
          kept
              ? "kept batch %d of epoch %d is closed".formatted(index, epoch)
              : ("batch %d of epoch %d has ended: the next one was taken, or its pass was closed;"
                      + " use it before that, or keep() it")
                  .formatted(index, epoch));
    }
  }

  /** Ends the batch and closes its tensors. Silent the second time. */
  @Override
  public void close() {
    end();
    for (Tensor tensor : tensors) {
      tensor.close(); // silent the second time
    }
  }

  /** Ends the batch without freeing its tensors. Any thread may. */
  void end() {
    ended = true;
  }
}
