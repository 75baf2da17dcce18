// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.data.task.SampleRandom;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImageTensorPlan;
import io.torchfeed.image.NvJpegDecoder;
import io.torchfeed.internal.Checks;
import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The samples of one step: a tensor for each column of the dataset.
 *
 * <p>A batch from a pass is valid until the next one is taken or the pass is closed; the loader
 * ends it. {@link #keep} returns one that lasts. The memory of a batch is reused only when no
 * tensor refers to it any more: a view of it, a result computed from it, or an autograd graph may
 * outlive the batch. Not thread-safe.
 */
public final class Batch implements AutoCloseable {
  /**
   * A step that computes other tensors of each batch on its device, when the consumer takes it: see
   * {@link DataLoaderBuilder#afterTransfer}.
   *
   * <pre>{@code
   * Batch.Step augment = Batch.Step.images(0, tensorPlan).andThen(Batch.Step.of(BatchMix.mixUp(0.2, 10)));
   * }</pre>
   */
  @FunctionalInterface
  public interface Step {
    /**
     * Computes the tensors of a batch. Called in the consumer's thread, in its current stream, in a
     * {@code PointerScope} and without recording gradients; passes that run at the same time call
     * it concurrently.
     *
     * @param batch the batch of the loader, which ends with this call unless it is kept; its
     *     tensors may be written
     * @param seed the seed of the loader
     * @return the tensors that {@link Batch#tensor} returns: some of the batch, views of them, or
     *     new ones, of any number and shape. The loader takes references of its own.
     * @throws Exception if they cannot be computed; the consumer gets an {@link
     *     IllegalStateException} with this cause in place of the batch
     */
    Tensor[] apply(Batch batch, long seed) throws Exception;

    /**
     * Returns a step that applies an image plan to a column, by the draws of seed, epoch and index.
     *
     * @param column the number of the column of uint8 images, {@code [B, 3, height, width]}
     * @param plan the steps
     * @return the step, which leaves the other columns alone
     */
    static Step images(int column, ImageTensorPlan plan) {
      requireNonNull(plan, "plan");
      return (batch, seed) ->
          batch.replacing(
              column, plan.apply(batch.tensor(column), seed, batch.epoch(), batch.indices()));
    }

    /**
     * Returns a step that applies a transform. Its random numbers are those that {@link
     * DataLoaderBuilder#transform} would give it, unless the first sample of a batch was skipped:
     * they depend on seed, epoch and the first sample that is left.
     *
     * @param transform a transform, for example a {@link io.torchfeed.data.BatchMix}
     * @return the step
     */
    static Step of(BatchTransform transform) {
      requireNonNull(transform, "transform");
      return (batch, seed) -> {
        SampleRandom random = new SampleRandom();
        long first = batch.size() == 0 ? -1 : batch.indices()[0];
        random.begin(~seed, batch.epoch(), first); // as in a transform on the worker
        return transform.apply(batch.tensors().clone(), random);
      };
    }

    /**
     * Returns a step that decodes images on a CUDA device, and on the CPU those that nvJPEG
     * refuses.
     *
     * <p>With {@link DataLoaderBuilder#device} set to the device of the decoder, the workers of the
     * loader decode ahead of the consumer, as far as it prefetches: each in a stream of its own,
     * which no other stream waits for. They copy the other columns, too, so this is the first step.
     * Two workers or more read files and start operations while another one waits for its images.
     * An image that cannot be decoded costs its batch, when that is taken. Without a device, the
     * consumer's thread decodes a batch when it takes it, and the other columns stay on the host.
     *
     * @param column the number of the column of encoded files, {@link
     *     io.torchfeed.data.VariableLength#packed}; the images take its place
     * @param offsets the number of the column of its offsets, which stays
     * @param decoder decodes, also for several loaders and passes at once; the caller closes it
     *     after them
     * @param plan may crop, scale, flip, turn and normalize
     * @return the step
     */
    static Step decode(int column, int offsets, NvJpegDecoder decoder, ImagePlan plan) {
      requireNonNull(decoder, "decoder");
      requireNonNull(plan, "plan");
      return new DecodeStep(
          column,
          offsets,
          (files, seed, epoch, indices) -> decoder.decode(files, plan, seed, epoch, indices),
          decoder.device(),
          null);
    }

    /**
     * Returns a step that applies this one and then another one to its results.
     *
     * @param next the other step
     * @return the step
     */
    default Step andThen(Step next) {
      requireNonNull(next, "next");
      return (batch, seed) -> next.apply(batch.lending(apply(batch, seed)), seed);
    }
  }

  private final Batches pass; // keeps the pass reachable while one of its batches is in use
  private final LoadedBatch content;
  private final boolean kept;

  /** Creates the batch that a consumer has taken. */
  Batch(Batches pass, LoadedBatch content) {
    this(pass, content, false);
  }

  private Batch(Batches pass, LoadedBatch content, boolean kept) {
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
    return all[Checks.requireIndex("column", column, all.length)];
  }

  /**
   * Returns the column of a name, as {@link #tensor(int)} returns it.
   *
   * <p>The dataset names its columns: by its {@link io.torchfeed.memory.RowSpec}s, by {@link
   * io.torchfeed.data.NativeDataset#withNames}, as {@code image} and {@code label} of images, or as
   * the CSV file does. The lengths, masks and offsets of a column {@code tokens} of variable length
   * are {@code tokens.lengths}, {@code tokens.mask} and {@code tokens.offsets}. A transform of
   * batches and a step after the transfer change tensors, but no names: each place keeps its own.
   *
   * @param column the name of the column
   * @return the tensor, the same object each time
   * @throws IllegalStateException if the batch has ended
   * @throws IllegalArgumentException if no column has the name; the message lists those that there
   *     are
   * @throws IndexOutOfBoundsException if a transform or a step left no tensor in its place
   */
  public Tensor tensor(String column) {
    return tensor(pass.column(column));
  }

  /**
   * Returns the number of samples in the batch.
   *
   * @return the batch size; smaller in the last batch of an epoch, or of a shard of a stream, that
   *     does not divide evenly, and where samples were skipped; varies with a batch sampler
   */
  public int size() {
    return content.size();
  }

  /**
   * Returns the epoch of the batch.
   *
   * @return the number of the epoch, at least 0
   */
  public long epoch() {
    return content.epoch();
  }

  /**
   * Returns the number of the batch in its epoch.
   *
   * @return the number, starting at 0
   */
  public long number() {
    return content.number();
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
    return Arrays.copyOf(content.indices(), content.size());
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
    int element = Checks.requireIndex("row", row, size());
    int[] elements = content.elements;
    return pass.isPadding(content.number(), elements == null ? element : elements[element]);
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
      return new Batch(pass, content.keptIn(kept), true);
    }
  }

  /** Returns the tensors of all columns, with another one in the place of a column. */
  Tensor[] replacing(int column, Tensor replacement) {
    Tensor[] all = tensors().clone();
    all[Checks.requireIndex("column", column, all.length)] = replacement;
    return all;
  }

  /** Returns tensors of the same content that no scope closes. */
  static Tensor[] references(@Nullable Tensor @Nullable [] tensors) {
    if (tensors == null) {
      throw new IllegalStateException("the step returned null instead of tensors");
    }
    for (int i = 0; i < tensors.length; i++) {
      Tensor tensor = tensors[i];
      if (tensor == null || tensor.isNull() || !tensor.defined()) {
        throw new IllegalStateException("the step returned no tensor " + i);
      }
    }
    Tensor[] owned = new Tensor[tensors.length];
    for (int i = 0; i < tensors.length; i++) {
      Tensor tensor = requireNonNull(tensors[i]);
      owned[i] = NativeHandle.outsideOfScopes(() -> new Tensor(tensor));
    }
    return owned;
  }

  /** Returns the same batch in tensors that others own and close. */
  Batch lending(Tensor[] others) {
    return new Batch(pass, content.keptIn(others), kept);
  }

  /** Returns the tensors of all columns. */
  Tensor[] tensors() {
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
              .formatted(content.number(), content.epoch()));
    }
  }

  /** Ends the batch and frees its tensors. Idempotent; may be called by any thread. */
  @Override
  public void close() {
    content.close();
  }
}
