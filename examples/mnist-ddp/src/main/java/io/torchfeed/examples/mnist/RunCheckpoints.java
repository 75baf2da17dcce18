// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.Checkpoint;
import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.Shards;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.LongUnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The checkpoints of a run: one after each epoch, which is its step, written by all ranks together.
 */
final class RunCheckpoints implements AutoCloseable {
  private static final String FOLDER = "checkpoints";
  private static final Pattern STEP = Pattern.compile("step-(\\d{1,18})");
  private static final Pattern OLDER = Pattern.compile("epoch-\\d+\\.ckpt");

  private final Checkpoints checkpoints;
  private final TrainingState state;
  private final Shards shards;

  private RunCheckpoints(Checkpoints checkpoints, TrainingState state, Shards shards) {
    this.checkpoints = checkpoints;
    this.state = state;
    this.shards = shards;
  }

  /**
   * Opens the checkpoints of a run; every rank must call it.
   *
   * @param run the folder of the run
   * @param state of this rank; borrowed
   * @param group the ranks; borrowed
   */
  static RunCheckpoints open(Path run, TrainingState state, ProcessGroup group) {
    String name = group.broadcastString(UUID.randomUUID().toString(), 0);
    return new RunCheckpoints(
        Checkpoints.open(
            run.resolve(FOLDER), CheckpointOptions.defaults().withKept(Integer.MAX_VALUE)),
        state,
        Shards.of(group.part(), name));
  }

  /**
   * Returns the run folder of {@code path}, which is a run folder or one of its checkpoints; of a
   * checkpoint elsewhere, the folder in which it is.
   */
  static Path runOf(Path path) {
    if (stepOf(path).isEmpty()) {
      return path;
    }
    Path folder = folderOf(path);
    Path run = folder.getParent();
    return run != null && folder.endsWith(FOLDER) ? run : folder;
  }

  /** Returns the step of a checkpoint; empty for a run folder, whatever its name is. */
  private static Optional<Long> stepOf(Path path) {
    Matcher matcher = STEP.matcher(String.valueOf(path.getFileName()));
    return matcher.matches() && !Files.isDirectory(path.resolve(FOLDER))
        ? Optional.of(Long.valueOf(matcher.group(1)))
        : Optional.empty();
  }

  /** Returns the folder of the checkpoint {@code path}, or of all checkpoints of a run. */
  private static Path folderOf(Path path) {
    Path parent = path.toAbsolutePath().getParent();
    return parent != null && stepOf(path).isPresent() ? parent : path.resolve(FOLDER);
  }

  /**
   * Checks that a run can be continued, before its ranks are started.
   *
   * @param path a run folder or one of its checkpoints
   * @throws CommandException if there is no checkpoint
   */
  static void requireAny(Path path) {
    if (isOlder(String.valueOf(path.getFileName()))) {
      throw ofOlderVersion(path + " is a checkpoint");
    }
    Path folder = stepOf(path).isPresent() ? path : folderOf(path);
    List<String> names;
    try (Stream<Path> files = Files.list(folder)) {
      names = files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    } catch (NoSuchFileException e) {
      throw CommandException.wrongUse(
          "There is no checkpoint to resume from: " + folder + " is missing", e);
    } catch (IOException e) {
      throw CommandException.wrongUse("Cannot read " + folder + ": " + MnistFolder.describe(e), e);
    }
    if (stepOf(path).isPresent() || names.stream().anyMatch(name -> STEP.matcher(name).matches())) {
      return;
    }
    throw names.stream().anyMatch(RunCheckpoints::isOlder)
        ? ofOlderVersion(folder + " has checkpoints")
        : CommandException.wrongUse("There is no checkpoint to resume from in " + folder);
  }

  private static boolean isOlder(String name) {
    return OLDER.matcher(name).matches();
  }

  private static CommandException ofOlderVersion(String found) {
    return CommandException.wrongUse(
        found
            + " of an older version of this program, which cannot be resumed; start again without"
            + " --resume");
  }

  /**
   * Loads the last checkpoint of a run that all ranks can read, or one that is named; every rank
   * must call it.
   *
   * @param path a run folder or one of its checkpoints
   * @param state receives it
   * @param rank this rank
   * @param least returns the least of the numbers of all ranks
   * @param warnings receives a message for each damaged checkpoint that is skipped
   * @return the checkpoint, whose step is the number of epochs that are done
   * @throws CommandException if there is none, or it is of another run
   */
  static Checkpoint resume(
      Path path,
      TrainingState state,
      Part rank,
      LongUnaryOperator least,
      Consumer<String> warnings) {
    try (Checkpoints checkpoints = Checkpoints.open(folderOf(path))) {
      Optional<Long> step = stepOf(path);
      if (step.isPresent()) {
        return checkpoints.load(state, rank, step.get());
      }
      Checkpoint last =
          checkpoints
              .load(state, rank)
              .orElseThrow(
                  () -> CommandException.wrongUse("There is no checkpoint in " + folderOf(path)));
      last.skipped()
          .forEach(each -> warnings.accept(each.getMessage() + "; using the one before it"));
      long ofAll = least.applyAsLong(last.step());
      if (ofAll == last.step()) {
        return last;
      }
      warnings.accept(last.folder() + " cannot be read by all ranks; using the one before it");
      return checkpoints.load(state, rank, ofAll);
    } catch (CheckpointException e) {
      throw CommandException.wrongUse("Cannot resume from " + e.getMessage(), e);
    }
  }

  /**
   * Saves the state after an epoch; every rank must call it.
   *
   * @param epoch the number of epochs that are done
   */
  void save(int epoch) {
    try {
      checkpoints.save(epoch, state, shards);
    } catch (CheckpointException e) {
      throw new CommandException("Cannot write the checkpoint " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    checkpoints.close();
  }
}
