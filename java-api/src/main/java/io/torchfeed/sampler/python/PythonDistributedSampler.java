// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DividedPlan;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.ListCursor;
import io.torchfeed.sampler.cursor.OrderProbe;
import io.torchfeed.sampler.cursor.PositionCursor;
import io.torchfeed.sampler.cursor.RangeCursor;
import io.torchfeed.sampler.cursor.Stride;
import java.util.List;

/**
 * The order of PyTorch's Python {@code DistributedSampler}, bit for bit: one rank's part of a
 * shuffled dataset, assigned round-robin.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/distributed.py} and {@code randperm} on the CPU,
 * in pure Java; golden/python_samplers.py. The defaults are PyTorch's; deviations are set by name:
 *
 * <pre>{@code
 * Sampler sampler =
 *     PythonDistributedSampler.of(50_000, Part.rank(rank).of(8)).withSeed(42).withTail(Tail.DROP);
 * }</pre>
 *
 * <p>Epoch e is a pass after {@code set_epoch(e)}: its generator is seeded with the low 32 bits of
 * {@code seed + e}, so (seed 0, epoch 1) and (seed 1, epoch 0) are the same order. PyTorch also
 * accepts negative epochs. Plans, loaders and saved states count epochs from 0, so the order of
 * {@code set_epoch(-1)} with seed s is epoch 0 with seed s - 1 here. {@link Tail#PAD} is {@code
 * drop_last=False}: after its end the order continues from its start, as often as needed. {@link
 * Tail#DROP} is {@code drop_last=True}: the order is truncated after the shuffle, so each epoch
 * leaves out different samples. {@link Tail#UNEVEN} does not exist in PyTorch.
 *
 * <p>An open cursor of a shuffled epoch holds 4 bytes per sample of the dataset, and opening it
 * takes one shuffle of the whole dataset on each rank, as in PyTorch. Without shuffling both are
 * constant. {@link io.torchfeed.sampler.Seekable#seek} always takes constant time.
 *
 * @param datasetSize number of samples in the dataset; in [0, 2147483639] with shuffle, in [0,
 *     2<sup>62</sup>] without
 * @param part the part of this rank
 * @param shuffle whether the order is random; otherwise it is 0, 1, 2, … in every epoch
 * @param seed any number; equal on all ranks
 * @param tail the rule for a dataset whose size is not a multiple of the world size
 */
public record PythonDistributedSampler(
    long datasetSize, Part part, boolean shuffle, long seed, Tail tail)
    implements Sampler, DividedPlan<Cursor> {
  private static final long MAX_IN_ORDER = 1L << 62;

  /**
   * Creates a plan with all parameters given.
   *
   * @param datasetSize number of samples in the dataset; in [0, 2147483639] with shuffle, in [0,
   *     2<sup>62</sup>] without
   * @param part the part of this rank
   * @param shuffle whether the order is random
   * @param seed any number; equal on all ranks
   * @param tail the rule for a dataset whose size is not a multiple of the world size
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public PythonDistributedSampler {
    requireNonNull(part, "part");
    requireNonNull(tail, "tail");
    Checks.requireDatasetSize(datasetSize);
    long most = shuffle ? IndexList.MAX_SIZE : MAX_IN_ORDER;
    if (datasetSize > most) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d] %s shuffle, got %d"
              .formatted(most, shuffle ? "with" : "without", datasetSize));
    }
  }

  /**
   * Creates a plan with PyTorch's defaults: shuffled, seed 0, padded.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2147483639]
   * @param part the part of this rank
   * @return the plan
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static PythonDistributedSampler of(long datasetSize, Part part) {
    return new PythonDistributedSampler(datasetSize, part, true, 0, Tail.PAD);
  }

  /**
   * Creates a plan without shuffling: 0, 1, 2, … assigned round-robin; {@code shuffle=False} in
   * PyTorch.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>62</sup>]
   * @param part the part of this rank
   * @return the plan, padded
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static PythonDistributedSampler inOrder(long datasetSize, Part part) {
    return new PythonDistributedSampler(datasetSize, part, false, 0, Tail.PAD);
  }

  /**
   * Returns this plan with another seed.
   *
   * @param seed any number; equal on all ranks
   * @return the new plan
   */
  public PythonDistributedSampler withSeed(long seed) {
    return new PythonDistributedSampler(datasetSize, part, shuffle, seed, tail);
  }

  /**
   * Returns this plan with another tail.
   *
   * @param tail the rule for a dataset whose size is not a multiple of the world size
   * @return the new plan
   */
  public PythonDistributedSampler withTail(Tail tail) {
    return new PythonDistributedSampler(datasetSize, part, shuffle, seed, tail);
  }

  @Override
  public long size() {
    return Stride.sizeOfARank(datasetSize, part, tail);
  }

  @Override
  public Cursor resume(long epoch, List<EpochSegment> delivered) {
    requireNonNull(delivered, "delivered");
    requireEpoch(epoch);
    return DividedPlan.super.resume(epoch, delivered);
  }

  @Override
  public Cursor openPart(long epoch, List<EpochSegment> before) {
    requireNonNull(before, "before");
    return Stride.open(this, () -> whole(epoch), datasetSize, before);
  }

  private void requireEpoch(long epoch) {
    if (epoch < 0) {
      throw new IllegalArgumentException(
          "epoch must be at least 0, got %d; PyTorch's order of set_epoch(%d) with seed %d is epoch 0 with seed %d"
              .formatted(epoch, epoch, seed, seed + epoch));
    }
  }

  private PositionCursor whole(long epoch) {
    if (!shuffle) {
      return new RangeCursor(this, datasetSize);
    }
    int n = (int) datasetSize;
    int[] list = IndexList.ints(this, n);
    Randperm.write(new Mt19937(seed + epoch), n, list, 0, n);
    return new ListCursor(this, IndexList.of(list));
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    Sampler order = new PythonDistributedSampler(datasetSize, Part.whole(), shuffle, seed, tail);
    return shuffle
        ? OrderProbe.ofList(order, order.size(), epoch)
        : OrderProbe.of(order, order.size(), epoch);
  }

  @Override
  public PlanParameters order() {
    return PlanParameters.of("python.DistributedSampler")
        .with("datasetSize", datasetSize)
        .with("shuffle", shuffle)
        .with("seed", seed)
        .with("tail", tail);
  }
}
