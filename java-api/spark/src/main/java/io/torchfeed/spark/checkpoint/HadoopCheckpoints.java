// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.checkpoint;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointException;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Folders;
import io.torchfeed.spark.RankCheckpoints;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.BooleanSupplier;
import org.apache.hadoop.conf.Configuration;

/** The checkpoints of a rank in a {@link HadoopFolder}, by way of local files. */
public final class HadoopCheckpoints implements RankCheckpoints {
  private static final String SHARED = "shared";
  private static final String RANK = "rank-";

  private final HadoopFolder folder;
  private final int kept;
  private final int keptBest;
  private final ProcessGroup group;
  private final String job;
  private final int attempt;
  private final String digest;

  /**
   * Opens the checkpoints of a job.
   *
   * @param path of the folder
   * @param kept how many of the newest to keep
   * @param keptBest how many of the best to keep
   * @param hadoop the configuration of the file system
   * @param group of the ranks
   * @param job in 16 hexadecimal digits
   * @param attempt how often the stage was repeated
   * @param digest of this rank's rows
   */
  public HadoopCheckpoints(
      String path,
      int kept,
      int keptBest,
      Configuration hadoop,
      ProcessGroup group,
      String job,
      int attempt,
      String digest) {
    this.folder = new HadoopFolder(path, hadoop);
    this.kept = kept;
    this.keptBest = keptBest;
    this.group = group;
    this.job = job;
    this.attempt = attempt;
    this.digest = digest;
  }

  @Override
  public void save(long step, TrainingState shared, TrainingState own) {
    requireNonNull(shared, "shared");
    requireNonNull(own, "own");
    String name = HadoopFolder.nameOf(step, job, attempt);
    Path local = local();
    try {
      if (group.rank() == 0) {
        upload(local.resolve(SHARED), step, shared, name + "/" + SHARED);
      }
      upload(local.resolve(RANK), step, own, name + "/" + RANK + group.rank());
      String[] digests = group.allGatherStrings(digest); // and waits for all files
      if (group.rank() == 0) {
        folder.complete(name, List.of(digests), shared.metric());
        folder.deleteOld(kept, keptBest);
      }
    } catch (IOException e) {
      throw failed("saved", e);
    } finally {
      delete(local);
    }
  }

  private void upload(Path local, long step, TrainingState state, String name) throws IOException {
    try (Checkpoints checkpoints = Checkpoints.open(local)) {
      checkpoints.save(step, state);
    }
    folder.upload(local, name);
  }

  @Override
  public OptionalLong load(TrainingState shared, TrainingState own) {
    requireNonNull(shared, "shared");
    requireNonNull(own, "own");
    try {
      return first(
          group.rank() == 0 ? folder.complete() : List.of(),
          (name, local) -> {
            requireSameRows(name);
            return load(name, local, shared, own);
          });
    } catch (IOException e) {
      throw failed("loaded", e);
    }
  }

  @Override
  public OptionalLong loadBest(TrainingState parts) {
    requireNonNull(parts, "parts");
    try {
      return first(
          group.rank() == 0 ? folder.best() : List.of(),
          (name, local) -> {
            folder.download(name + "/" + SHARED, local.resolve(SHARED));
            return tried(
                () -> {
                  try (Checkpoints ofAll = Checkpoints.open(local.resolve(SHARED))) {
                    return ofAll.loadBest(parts).isPresent();
                  }
                },
                name);
          });
    } catch (IOException e) {
      throw failed("loaded", e);
    }
  }

  /** Loads a checkpoint by way of a local folder; returns the problem of a damaged one. */
  @FunctionalInterface
  private interface Loading {
    Optional<CheckpointException> of(String name, Path local) throws IOException;
  }

  /** Loads the first one that is good on all ranks; returns its step. */
  private OptionalLong first(List<String> names, Loading loading) throws IOException {
    String all = group.broadcastString(String.join("\n", names), 0);
    CheckpointException last = null;
    for (String name : all.isEmpty() ? List.<String>of() : Arrays.asList(all.split("\n", -1))) {
      Path local = local();
      try {
        Optional<CheckpointException> problem = loading.of(name, local);
        long[][] failed = group.allGatherLongs(new long[] {problem.isPresent() ? 1 : 0});
        if (Arrays.stream(failed).allMatch(each -> each[0] == 0)) {
          return OptionalLong.of(HadoopFolder.stepOf(name));
        }
        last = problem.orElse(last);
      } finally {
        delete(local);
      }
    }
    if (!all.isEmpty()) {
      throw last != null
          ? last
          : new IllegalStateException("no checkpoint in %s is good on all ranks".formatted(folder));
    }
    return OptionalLong.empty();
  }

  private void requireSameRows(String name) throws IOException {
    List<String> digests = folder.digests(name);
    if (digests.size() != group.size() || !digests.get(group.rank()).equals(digest)) {
      throw new SparkRanksException(
          Problem.ROWS_DIFFER,
          ("the checkpoint %s/%s is of %d ranks, whose rank %d had other rows; continue with the"
                  + " same rows in as many partitions, or name another path")
              .formatted(folder, name, digests.size(), group.rank()));
    }
  }

  /** Returns the problem of a damaged checkpoint. */
  private Optional<CheckpointException> load(
      String name, Path local, TrainingState shared, TrainingState own) throws IOException {
    folder.download(name + "/" + SHARED, local.resolve(SHARED));
    folder.download(name + "/" + RANK + group.rank(), local.resolve(RANK));
    return tried(
        () -> {
          try (Checkpoints ofAll = Checkpoints.open(local.resolve(SHARED));
              Checkpoints ofRank = Checkpoints.open(local.resolve(RANK))) {
            return ofAll.load(shared).isPresent() && ofRank.load(own).isPresent();
          }
        },
        name);
  }

  /** Returns the problem of a damaged checkpoint. */
  private static Optional<CheckpointException> tried(BooleanSupplier isFound, String name)
      throws IOException {
    try {
      if (!isFound.getAsBoolean()) {
        throw new IOException(name + " lacks files");
      }
      return Optional.empty();
    } catch (CheckpointException e) {
      if (e.problem() == CheckpointException.Problem.MISMATCH) {
        throw e;
      }
      return Optional.of(e);
    }
  }

  private SparkRanksException failed(String what, IOException e) {
    return new SparkRanksException(
        Problem.CHECKPOINTS,
        "a checkpoint in %s cannot be %s: %s".formatted(folder, what, Failures.reason(e)),
        e);
  }

  private static Path local() {
    try {
      return Files.createTempDirectory("torchfeed-checkpoint-");
    } catch (IOException e) {
      throw new UncheckedIOException("a temporary folder cannot be created", e);
    }
  }

  private static void delete(Path folder) {
    try {
      Folders.delete(folder);
    } catch (IOException e) {
      throw new UncheckedIOException("a temporary folder cannot be deleted", e);
    }
  }
}
