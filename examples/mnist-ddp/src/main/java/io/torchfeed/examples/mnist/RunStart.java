// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.examples.common.StepCurve;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The start of a run: its loop continues from the checkpoints in the folder of the run. */
final class RunStart {
  /** The folder of checkpoints in the folder of a run. */
  static final String FOLDER = "checkpoints";

  private static final String LATEST = "LATEST";
  private static final Pattern STEP = Pattern.compile("step-(\\d{1,18})");

  private RunStart() {}

  /**
   * Adds the settings that must not change in a resumed run to a state, before all that depends on
   * them. Loading other ones throws a {@link CommandException} that names the first difference.
   *
   * @param ranks number of processes
   * @param sampler digest of the sampler's plan
   */
  static void addTo(TrainingState.Builder state, Settings settings, int ranks, String sampler) {
    long seed = settings.seed;
    long batchSize = settings.batchSize;
    state
        .number("seed", () -> seed, then -> require("--seed", then, seed))
        .number("ranks", () -> ranks, then -> require("--ranks", then, (long) ranks))
        .number("batch-size", () -> batchSize, then -> require("--batch-size", then, batchSize))
        .text("sampler", () -> sampler, then -> require("the sampler's plan", then, sampler));
  }

  private static void require(String field, Object then, Object now) {
    if (!then.equals(now)) {
      String rule = "pass the value of the checkpoint, or start again without --resume";
      throw CommandException.wrongUse(
          "Cannot resume: %s was %s in the checkpoint and is %s now; %s"
              .formatted(field, then, now, rule));
    }
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
    Path folder = stepOf(path).isPresent() ? path : folderOf(path);
    try (Stream<Path> files = Files.list(folder)) {
      if (stepOf(path).isEmpty() && files.noneMatch(file -> stepOf(file).isPresent())) {
        throw none(folder);
      }
    } catch (NoSuchFileException e) {
      throw CommandException.wrongUse(
          "There is no checkpoint to resume from: " + folder + " is missing", e);
    } catch (IOException e) {
      throw CommandException.wrongUse("Cannot read " + folder + ": " + e, e);
    }
  }

  private static CommandException none(Path folder) {
    return CommandException.wrongUse("There is no checkpoint to resume from in " + folder);
  }

  /**
   * Prepares the folder of checkpoints of a run, on rank 0: empty for a new run; else with the one
   * to continue from. Of those in the folder of the run itself, the loop chooses the newest that
   * all ranks can read.
   *
   * @param run the folder of the run
   * @param resume a run folder or one of its checkpoints, or null
   * @param warnings receives a message for each damaged checkpoint that is skipped
   * @throws CommandException if there is no good one, or the one that is named is not
   */
  static void prepare(Path run, @Nullable Path resume, Consumer<String> warnings) {
    Path folder = run.resolve(FOLDER);
    try {
      if (resume == null) {
        delete(folder);
        StepCurve.deleteAll(run);
        return;
      }
      requireAny(resume);
      Path source = folderOf(resume);
      boolean isOwn = Files.exists(folder) && Files.isSameFile(source, folder);
      Optional<Long> named = stepOf(resume);
      if (isOwn && named.isEmpty()) {
        return;
      }
      String chosen = "step-%06d".formatted(chosen(source, named, warnings));
      if (!isOwn) {
        delete(folder);
        copy(source.resolve(chosen), Files.createDirectories(folder).resolve(chosen));
      }
      OutputFile.write(folder.resolve(LATEST), chosen.getBytes(StandardCharsets.UTF_8));
    } catch (IOException e) {
      throw new CommandException("Cannot prepare " + folder + ": " + e, e);
    }
  }

  private static long chosen(Path source, Optional<Long> named, Consumer<String> warnings) {
    try (Checkpoints checkpoints = Checkpoints.open(source)) {
      for (long step : named.map(List::of).orElseGet(checkpoints::steps)) {
        try {
          checkpoints.verify(step);
          return step;
        } catch (CheckpointException e) {
          if (named.isPresent()) {
            throw CommandException.wrongUse("Cannot resume from " + e.getMessage(), e);
          }
          warnings.accept(e.getMessage() + "; using the one before it");
        }
      }
    }
    throw none(source);
  }

  private static void copy(Path from, Path to) throws IOException {
    Files.createDirectory(to);
    try (Stream<Path> files = Files.list(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(file.getFileName()));
      }
    }
  }

  private static void delete(Path folder) throws IOException {
    if (Files.exists(folder)) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(each);
        }
      }
    }
  }
}
