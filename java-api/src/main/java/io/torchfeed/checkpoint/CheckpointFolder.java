// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.CheckpointException.Problem;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.RegularFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The folder of a run's checkpoints: {@code step-000100}, ..., and {@code LATEST}, which names one.
 *
 * @param path the folder; need not exist
 */
record CheckpointFolder(Path path) {
  static final String LATEST = "LATEST";

  private static final int MAX_LATEST_BYTES = 256;
  private static final String STEP = "step-";
  // As nameOf gives them: no zero before seven digits.
  private static final Pattern NAME = Pattern.compile(STEP + "(\\d{6}|[1-9]\\d{6,17})");

  /** Follows the name of a step in the hidden name of a folder that is not complete. */
  static final String PARTIAL = ".partial-";

  /** The same for one that another takes the place of. */
  static final String REPLACED = ".replaced-";

  static String nameOf(long step) {
    return STEP + String.format(Locale.ROOT, "%06d", step);
  }

  Path step(long step) {
    return path.resolve(nameOf(step));
  }

  /** Returns a new hidden name. */
  Path newHidden(long step, String kind) {
    return hidden(step, kind, UUID.randomUUID().toString());
  }

  /** Returns the hidden name under which all processes of a run write. */
  Path partial(long step, String run) {
    return hidden(step, PARTIAL, run);
  }

  private Path hidden(long step, String kind, String run) {
    return path.resolve("." + nameOf(step) + kind + run);
  }

  /** Returns the hidden folders of a kind. */
  List<Path> hiddenOf(String kind) throws IOException {
    List<Path> all = new ArrayList<>();
    try (DirectoryStream<Path> found =
        Files.newDirectoryStream(path, "." + STEP + "*" + kind + "*")) {
      found.forEach(all::add);
    } catch (NoSuchFileException e) {
      return List.of();
    }
    return all;
  }

  /**
   * Checks that the path is a folder, or nothing yet.
   *
   * @throws FileSystemException if it is something else
   */
  void requireFolder() throws FileSystemException {
    if (Files.exists(path) && !Files.isDirectory(path)) {
      throw new FileSystemException(
          path.toString(), null, "it is not a folder; move it away, or name another folder");
    }
  }

  /**
   * Checks that {@code LATEST} can be replaced, before a checkpoint is written.
   *
   * @throws FileSystemException if it is something else than a file
   */
  void requireLatest() throws FileSystemException {
    Path latest = path.resolve(LATEST);
    String kind = RegularFile.otherKind(latest);
    if (kind != null) {
      throw new FileSystemException(
          latest.toString(), null, "%s must be a file, got %s; delete it".formatted(latest, kind));
    }
  }

  /** Gives checkpoints their names back that a process was replacing when it was killed. */
  void restoreReplaced() throws IOException {
    for (Path each : hiddenOf(REPLACED)) {
      String name = String.valueOf(each.getFileName());
      Path place = path.resolve(name.substring(1, name.indexOf(REPLACED)));
      if (!Files.exists(place)) {
        restore(each, place);
      }
    }
  }

  private static void restore(Path replaced, Path place) throws IOException {
    try {
      Files.move(replaced, place, StandardCopyOption.ATOMIC_MOVE);
    } catch (NoSuchFileException e) {
      if (!Files.exists(place)) { // another process restores it, too
        throw e;
      }
    }
  }

  /** Returns the steps that have a checkpoint, newest first. */
  List<Long> steps() throws IOException {
    try (Stream<Path> all = Files.list(path)) {
      return all.map(file -> String.valueOf(file.getFileName()))
          .filter(name -> NAME.matcher(name).matches())
          .map(name -> Long.valueOf(name.substring(STEP.length())))
          .sorted(Comparator.reverseOrder())
          .toList();
    } catch (NoSuchFileException e) {
      return List.of();
    }
  }

  /**
   * Returns those steps whose checkpoint has a metric, best first, and of equal ones the first. One
   * that cannot be read counts as one without a metric, and so does one of the other kind than the
   * newest has.
   *
   * @param steps newest first
   */
  List<Long> bestOf(List<Long> steps) {
    Map<Long, Metric> metrics = new TreeMap<>();
    boolean isLoss = false;
    for (long step : steps) {
      Optional<Metric> metric = new StepFolder(step(step)).metric();
      isLoss = metrics.isEmpty() ? metric.filter(Metric::isLoss).isPresent() : isLoss;
      if (metric.isPresent() && metric.get().isLoss() == isLoss) {
        metrics.put(step, metric.get());
      }
    }
    return metrics.entrySet().stream()
        .sorted(Map.Entry.comparingByValue(CheckpointFolder::bestFirst))
        .map(Map.Entry::getKey)
        .toList();
  }

  private static int bestFirst(Metric a, Metric b) {
    return a.isBetterThan(b) ? -1 : b.isBetterThan(a) ? 1 : 0;
  }

  /** Returns whether {@code LATEST} is known to name a step. */
  boolean isLatest(long step) {
    try {
      return latest().equals(nameOf(step));
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Returns the steps to try in order: the one that {@code LATEST} names, and older ones.
   *
   * @param skipped receives the problem of a {@code LATEST} that names none
   * @throws CheckpointException if the folder cannot be read
   */
  List<Long> candidates(List<CheckpointException> skipped) {
    try {
      requireFolder();
      restoreReplaced();
      List<Long> steps = new ArrayList<>(steps());
      Path latest = path.resolve(LATEST);
      if (!Files.exists(latest)) {
        return steps;
      }
      String kind = RegularFile.otherKind(latest);
      String name;
      try {
        name = kind == null ? latest() : "";
      } catch (IOException e) {
        skipped.add(CheckpointException.unreadable(latest, e));
        return steps;
      }
      if (!NAME.matcher(name).matches()) {
        skipped.add(
            new CheckpointException(
                latest,
                Problem.DAMAGED,
                "it must name a checkpoint, got %s; delete it, or write the name of one into it"
                    .formatted(kind == null ? '"' + Quotes.shortened(name) + '"' : kind)));
        return steps;
      }
      long named = Long.parseLong(name.substring(STEP.length()));
      steps.removeIf(step -> step >= named); // later ones are not complete, or not wanted
      steps.add(0, named);
      return steps;
    } catch (IOException e) {
      throw CheckpointException.unreadable(path, e);
    }
  }

  /** Returns the text of {@code LATEST}, or the begin of a longer one. */
  private String latest() throws IOException {
    try (InputStream file = Files.newInputStream(path.resolve(LATEST))) {
      return new String(file.readNBytes(MAX_LATEST_BYTES), StandardCharsets.UTF_8).trim();
    }
  }

  /**
   * Returns the exception for a folder whose checkpoints all are bad, in the order in which they
   * were tried.
   */
  CheckpointException noneOf(List<CheckpointException> bad) {
    CheckpointException none =
        new CheckpointException(
            path,
            Problem.DAMAGED,
            "none of its checkpoints is good; the first: " + bad.get(0).getMessage(),
            bad.get(0));
    bad.stream().skip(1).forEach(none::addSuppressed);
    return none;
  }
}
