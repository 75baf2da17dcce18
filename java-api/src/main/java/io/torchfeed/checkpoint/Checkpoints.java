// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.SaveTask.Copying;
import io.torchfeed.checkpoint.StateCopy.Share;
import io.torchfeed.checkpoint.StepFolder.SavedParts;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.RankConsistency.AllGather;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import java.util.function.LongFunction;
import java.util.function.Supplier;

/**
 * The checkpoints of a run in a folder.
 *
 * <pre>{@code
 * try (Checkpoints checkpoints = Checkpoints.open(folder)) {
 *   Optional<Checkpoint> last = checkpoints.load(state);
 *   for (long step = last.map(Checkpoint::step).orElse(0L) + 1; step <= steps; step++) {
 *     train(step);
 *     if (step % 500 == 0) {
 *       checkpoints.saveInBackground(step, state);
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>Each checkpoint is a folder, {@code step-000500}: a safetensors file for each part that has
 * tensors, such as {@code model.safetensors}, which Python reads without torchfeed; {@code
 * manifest.json}, with everything else and a CRC-32C of each 16 MiB of these files; and {@code
 * manifest.sha256}. It is written under a hidden name, flushed and renamed, and only then {@code
 * LATEST} names it, so that a kill at any moment and a full disk leave the last good one. Write
 * another name into {@code LATEST} to go back to an older one, and delete the later ones, which
 * count as the new run's else.
 *
 * <p>The metric of a state, {@link TrainingState.Builder#metric}, is in the manifest. The best
 * checkpoints stay beside the newest ones: see {@link #loadBest}.
 *
 * <p>A folder must have at most one run at a time. Not thread-safe. {@code close} has no effect the
 * second time.
 */
public final class Checkpoints implements AutoCloseable {
  private static final long MAX_STEP = 999_999_999_999_999_999L;

  private final CheckpointFolder folder;
  private final CheckpointWriter writer;
  private final Copying copying;
  private final SaveTask background = new SaveTask();
  private boolean isClosed;

  private Checkpoints(Path folder, CheckpointOptions options) {
    this.folder = new CheckpointFolder(folder);
    writer = new CheckpointWriter(this.folder, options);
    copying = options.isCopiedInBackground() ? Copying.IN_BACKGROUND : Copying.AT_ONCE;
  }

  /**
   * Opens a folder with the {@linkplain CheckpointOptions#defaults default} options.
   *
   * @param folder created by the first save, if it does not exist
   * @return the checkpoints; the caller closes them
   */
  public static Checkpoints open(Path folder) {
    return open(folder, CheckpointOptions.defaults());
  }

  /**
   * Opens a folder.
   *
   * @param folder created by the first save, if it does not exist
   * @param options how many to keep
   * @return the checkpoints; the caller closes them
   */
  public static Checkpoints open(Path folder, CheckpointOptions options) {
    return new Checkpoints(requireNonNull(folder, "folder"), requireNonNull(options, "options"));
  }

  /**
   * Saves a state; returns when it is on the disk. It must not change meanwhile. A checkpoint of
   * the same step is replaced.
   *
   * @param step number of the step that has been completed, in [0, 10<sup>18</sup>)
   * @param state the state to save
   * @throws IllegalArgumentException if the step is out of range, or a part has a tensor that a
   *     file cannot have
   * @throws IllegalStateException if a part has no state at this moment, or this is closed
   * @throws CheckpointException if it cannot be written: the disk is full, or the folder read-only.
   *     Earlier checkpoints stay. Or if {@link #saveInBackground} failed before: then nothing is
   *     saved, and this may be called again
   */
  public void save(long step, TrainingState state) {
    requireNonNull(state, "state");
    start(
        step,
        () -> state.copy(Stateful::sharedStateDict),
        Copying.NEVER,
        (taken, check) -> writer.write(step, taken, state.namesOfEachRank(), check));
    background.await();
  }

  /**
   * Saves a state by all ranks together; returns when it is complete. Each rank writes a part of
   * the tensors, such as {@code model-00002-of-00004.safetensors}, and the state that it alone has;
   * {@code model.safetensors.index.json} has the places of the tensors for Python. Needs no
   * operation of the group.
   *
   * @param step number of the step that has been completed, in [0, 10<sup>18</sup>), the same on
   *     all ranks, and not one at which a save of this run has failed
   * @param state the state to save, with the same parts on all ranks
   * @param shards the ranks
   * @throws IllegalArgumentException if the step is out of range, or a part has a tensor that a
   *     file cannot have
   * @throws IllegalStateException if a part has no state at this moment, or this is closed
   * @throws CheckpointException on all ranks, if one of them cannot write its part, does not come
   *     within the limit, or has another world size, other parts, names, shapes or dtypes, which
   *     are compared before anything is written. Earlier checkpoints stay. Or as {@link #save(long,
   *     TrainingState)}
   */
  public void save(long step, TrainingState state, Shards shards) {
    requireNonNull(state, "state");
    requireNonNull(shards, "shards");
    start(
        step,
        () -> Share.of(state, shards.part(), false),
        Copying.NEVER,
        (share, check) -> writer.write(step, share, state.namesOfEachRank(), shards, check));
    background.await();
  }

  /**
   * Copies a state and saves the copy while training continues. Takes the time of the copy, and
   * waits for the save before it; with {@link CheckpointOptions#withCopyInBackground}, the copy
   * continues until {@link #awaitCopied}. Its memory is kept for the next one. The JVM does not
   * exit before the last one is written.
   *
   * @param step number of the step that has been completed, in [0, 10<sup>18</sup>)
   * @param state the state to save
   * @throws IllegalArgumentException if the step is out of range
   * @throws IllegalStateException if a part has no state at this moment, or this is closed
   * @throws CheckpointException if the save before it failed: then nothing is saved, and this may
   *     be called again. A failure of this one is thrown by the next save, {@link #await} or {@link
   *     #close}
   */
  public void saveInBackground(long step, TrainingState state) {
    requireNonNull(state, "state");
    start(
        step,
        state::held,
        copying,
        (taken, check) -> writer.write(step, taken, state.namesOfEachRank(), check));
  }

  /**
   * Copies the share of this rank and saves it together with the other ranks while training
   * continues, as {@link #saveInBackground(long, TrainingState)}.
   *
   * @param step number of the step that has been completed, in [0, 10<sup>18</sup>), the same on
   *     all ranks, and not one at which a save of this run has failed
   * @param state the state to save, with the same parts on all ranks
   * @param shards the ranks
   * @throws IllegalArgumentException if the step is out of range
   * @throws IllegalStateException if a part has no state at this moment, or this is closed
   * @throws CheckpointException as {@link #saveInBackground(long, TrainingState)}
   */
  public void saveInBackground(long step, TrainingState state, Shards shards) {
    requireNonNull(state, "state");
    requireNonNull(shards, "shards");
    start(
        step,
        () -> Share.of(state, shards.part(), true),
        copying,
        (share, check) -> writer.write(step, share, state.namesOfEachRank(), shards, check));
  }

  private <T extends StateCopy> void start(
      long step, Supplier<T> taken, Copying when, BiConsumer<T, Runnable> write) {
    requireStep(step);
    requireOpen();
    background.start(folder.step(step), taken, when, write);
  }

  /**
   * Waits until the state may change that {@link #saveInBackground} was given; at once unless with
   * {@link CheckpointOptions#withCopyInBackground}. A failure of the copy is thrown by the next
   * save, {@link #await} or {@link #close}.
   */
  public void awaitCopied() {
    background.awaitCopied();
  }

  /**
   * Waits until everything is on the disk.
   *
   * @throws CheckpointException if a save in the background failed
   */
  public void await() {
    background.await();
  }

  /**
   * Loads the checkpoint that {@code LATEST} names or, if a file of it is damaged or missing, the
   * newest good one before it. All files are checked before a part is loaded: each is read once, by
   * up to four threads, into memory for one more copy of the state.
   *
   * @param state receives it; must have the parts that were saved
   * @return the checkpoint; empty if the folder has none
   * @throws CheckpointException if there are checkpoints but no good one, or too little memory; or
   *     if one is of other parts, or a part refuses its state, since its names, shapes or options
   *     differ: parts then are as {@link TrainingState#loadStateDict} leaves them
   * @throws IllegalStateException if a part cannot be loaded at this moment, or this is closed
   */
  public Optional<Checkpoint> load(TrainingState state) {
    return load(state, Part.whole());
  }

  /**
   * Loads a checkpoint as one of several ranks, as {@link #load(TrainingState)} does. It may have
   * been saved by another number of ranks: then the parts that differ between ranks, {@link
   * TrainingState#namesOfEachRank}, stay as they are, which {@link Checkpoint#ranks} tells.
   *
   * <p>If a file is damaged that some of the ranks read, these continue from an older checkpoint
   * than others: ranks that train together call {@link #load(TrainingState, Part, AllGather)}.
   *
   * @param state receives it; must have the parts that were saved
   * @param rank this rank among all of them
   * @return the checkpoint; empty if the folder has none
   * @throws CheckpointException as {@link #load(TrainingState)}
   * @throws IllegalStateException if a part cannot be loaded at this moment, or this is closed
   */
  public Optional<Checkpoint> load(TrainingState state, Part rank) {
    requireNonNull(state, "state");
    requireNonNull(rank, "rank");
    requireOpen();
    background.await();
    List<CheckpointException> skipped = new ArrayList<>();
    List<Long> steps = folder.candidates(skipped);
    return first(steps, skipped, step -> load(step, state, rank, skipped));
  }

  /** Returns the first that is good; the problems of those before it are added. */
  private Optional<Checkpoint> first(
      List<Long> steps, List<CheckpointException> skipped, LongFunction<Checkpoint> load) {
    for (long step : steps) {
      try {
        return Optional.of(load.apply(step));
      } catch (CheckpointException e) {
        if (e.isOfEveryFile()) {
          throw e;
        }
        skipped.add(e);
      }
    }
    if (skipped.isEmpty()) {
      return Optional.empty();
    }
    throw folder.noneOf(skipped);
  }

  /**
   * Loads a checkpoint that all ranks can read, as one of several ranks, which call this together:
   * the one that {@code LATEST} names or, if a file of it is damaged or missing for one of them,
   * the newest one before it that is good for all. Else as {@link #load(TrainingState, Part)}.
   *
   * @param state receives it; must have the parts that were saved
   * @param rank this rank among all of them
   * @param gather collects numbers of all ranks, for example {@code group::allGatherLongs}
   * @return the checkpoint, the same on all ranks; empty if no rank finds any
   * @throws CheckpointException on all ranks, if there are checkpoints, but no rank, or not every
   *     one, can read one of them; or as {@link #load(TrainingState)}
   * @throws IllegalStateException on all ranks, if one of them does not find a file of rank 0 in
   *     the folder, which it creates; or if some find checkpoints and others none; or as {@link
   *     #load(TrainingState, Part)}
   */
  public Optional<Checkpoint> load(TrainingState state, Part rank, AllGather gather) {
    requireNonNull(state, "state");
    requireNonNull(rank, "rank");
    requireNonNull(gather, "gather");
    requireOpen();
    background.await();
    try (CommonCheckpoint common = new CommonCheckpoint(folder, rank)) {
      return common.isFound(gather)
          ? Optional.of(loaded(common.parts(), common.step(), state, common.skipped()))
          : Optional.empty();
    }
  }

  /**
   * Loads parts of the best checkpoint by its metric, among the {@link #steps}. If a file of these
   * parts is damaged or missing, loads the next best. Any rank may call it alone.
   *
   * @param parts receives it, for example {@code TrainingState.builder().module("model",
   *     net).build()}; some of the parts that were saved and are the same on all ranks; without any
   *     it only finds the checkpoint
   * @return the checkpoint; empty if none has a metric
   * @throws CheckpointException if none of those with a metric is good; or as {@link
   *     #load(TrainingState)}
   * @throws IllegalStateException as {@link #load(TrainingState)}
   */
  public Optional<Checkpoint> loadBest(TrainingState parts) {
    requireNonNull(parts, "parts");
    List<CheckpointException> skipped = new ArrayList<>();
    return first(
        folder.bestOf(steps()),
        skipped,
        step ->
            loaded(new StepFolder(folder.step(step)).read(parts.names()), step, parts, skipped));
  }

  /**
   * Returns the steps of the checkpoints that {@link #load(TrainingState)} tries: the one that
   * {@code LATEST} names and those before it.
   *
   * @return the steps, latest first; empty if the folder has none
   * @throws CheckpointException if the folder cannot be read
   */
  public List<Long> steps() {
    requireOpen();
    background.await();
    return List.copyOf(folder.candidates(new ArrayList<>()));
  }

  /**
   * Checks all files of a checkpoint, also those that only other ranks load.
   *
   * @param step number of the step, in [0, 10<sup>18</sup>)
   * @throws IllegalArgumentException if the step is out of range
   * @throws CheckpointException if there is none of that step, or a file of it is damaged
   */
  public void verify(long step) {
    requireStep(step);
    requireOpen();
    background.await();
    new StepFolder(folder.step(step)).verify();
  }

  /**
   * Loads the checkpoint of a step as one of several ranks, whatever {@code LATEST} names, and no
   * other one in its place.
   *
   * @param state receives it; must have the parts that were saved
   * @param rank this rank among all of them; {@link Part#whole} if there are no others
   * @param step number of the step, in [0, 10<sup>18</sup>)
   * @return the checkpoint
   * @throws IllegalArgumentException if the step is out of range
   * @throws CheckpointException if there is none of that step, or it is damaged; or if it is of
   *     other parts, or a part refuses its state, as by {@link #load(TrainingState)}
   * @throws IllegalStateException if a part cannot be loaded at this moment, or this is closed
   */
  public Checkpoint load(TrainingState state, Part rank, long step) {
    requireNonNull(state, "state");
    requireNonNull(rank, "rank");
    requireStep(step);
    requireOpen();
    background.await();
    return load(step, state, rank, List.of());
  }

  private Checkpoint load(
      long step, TrainingState state, Part rank, List<CheckpointException> skipped) {
    return loaded(new StepFolder(folder.step(step)).read(rank), step, state, skipped);
  }

  private static Checkpoint loaded(
      SavedParts saved, long step, TrainingState state, List<CheckpointException> skipped) {
    try (saved) {
      saved.load(state);
      return new Checkpoint(saved.path(), step, saved.manifest(), skipped);
    }
  }

  private static void requireStep(long step) {
    if (step < 0 || step > MAX_STEP) {
      throw new IllegalArgumentException(
          "the step must be in [0, %d], got %d".formatted(MAX_STEP, step));
    }
  }

  private void requireOpen() {
    if (isClosed) {
      throw new IllegalStateException("the checkpoints are closed");
    }
  }

  /** Waits until everything is on the disk, with the exceptions of {@link #await}. */
  @Override
  public void close() {
    if (!isClosed) {
      isClosed = true;
      background.close();
    }
  }
}
