// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The state that a run needs to continue after an epoch exactly as if it had not stopped.
 *
 * <p>It holds the parameters once, as all ranks have the same at the end of an epoch, and each
 * rank's optimizer and the state of its exchange of gradients or weights. It holds no random state:
 * dropout's stream and the sample order are functions of seed, rank and epoch, so (seed, epoch)
 * determines it.
 */
final class Checkpoint {
  /**
   * First bytes of the file, before the version of the format, a digit, and the end of the line.
   */
  private static final String MAGIC = "torchfeed mnist-ddp checkpoint ";

  /** Has one state, of the optimizer of rank 0. */
  private static final byte[] FORMAT_1 = (MAGIC + "1\n").getBytes(StandardCharsets.US_ASCII);

  /** Has a state of each rank. */
  private static final byte[] FORMAT_2 = (MAGIC + "2\n").getBytes(StandardCharsets.US_ASCII);

  private static final int DIGEST_BYTES = 32;

  private final Plan plan;
  private final int epoch;
  private final byte[] model;
  private final List<RankState> ranks;

  /**
   * Creates the state after an epoch; keeps references to the arrays.
   *
   * @param plan the settings that determine the order of samples
   * @param epoch number of epochs completed, at least 1
   * @param model libtorch's archive of the parameters of rank 0
   * @param ranks the state of each rank, with an empty optimizer if rank 0's is the same; of rank 0
   *     alone in a checkpoint of format 1
   */
  Checkpoint(Plan plan, int epoch, byte[] model, List<RankState> ranks) {
    this.plan = plan;
    this.epoch = epoch;
    this.model = model;
    this.ranks = List.copyOf(ranks);
  }

  Plan plan() {
    return plan;
  }

  int epoch() {
    return epoch;
  }

  byte[] model() {
    return model;
  }

  /** Returns the state of a rank; missing parts are rank 0's. */
  RankState rank(int rank) {
    RankState state = ranks.get(Math.min(rank, ranks.size() - 1));
    return state.optimizer().length > 0
        ? state
        : new RankState(ranks.get(0).optimizer(), state.replica());
  }

  /**
   * The settings that must not change in a resumed run.
   *
   * @param seed the run's seed
   * @param ranks number of processes
   * @param batchSize samples per rank and step
   * @param sampler digest of the sampler's plan
   */
  record Plan(long seed, int ranks, int batchSize, String sampler) {
    /**
     * Throws if the plan differs.
     *
     * @throws CommandException if they differ; names the first differing field
     */
    void requireSame(Plan now) {
      require("--seed", seed, now.seed);
      require("--ranks", ranks, now.ranks);
      require("--batch-size", batchSize, now.batchSize);
      require("the sampler's plan", sampler, now.sampler);
    }

    private static void require(String field, Object then, Object now) {
      if (!then.equals(now)) {
        throw CommandException.wrongUse(
            "Cannot resume: "
                + field
                + " was "
                + then
                + " in the checkpoint and is "
                + now
                + " now; pass the value of the checkpoint, or start again without --resume",
            null);
      }
    }
  }

  /** Returns whether each rank has a state of its own. */
  boolean hasAllRanks() {
    return ranks.size() == plan.ranks;
  }

  /**
   * Writes the checkpoint piece by piece: those of many ranks take a large part of the heap.
   *
   * @param path an empty file
   */
  void write(Path path) throws IOException {
    MessageDigest digest = sha256();
    try (OutputStream file = Files.newOutputStream(path);
        DataOutputStream out =
            new DataOutputStream(new BufferedOutputStream(new DigestOutputStream(file, digest)))) {
      out.write(FORMAT_2);
      out.writeLong(plan.seed);
      out.writeInt(plan.ranks);
      out.writeInt(plan.batchSize);
      out.writeUTF(plan.sampler);
      out.writeInt(epoch);
      writeBlock(out, model);
      out.writeInt(ranks.size());
      for (RankState rank : ranks) {
        writeBlock(out, rank.optimizer());
        writeBlock(out, rank.replica());
      }
      out.flush();
      file.write(digest.digest());
    }
  }

  private static void writeBlock(DataOutputStream out, byte[] block) throws IOException {
    out.writeInt(block.length);
    out.write(block);
  }

  /**
   * Reads and verifies a checkpoint.
   *
   * @throws CommandException if the file cannot be read, is truncated or was changed
   */
  static Checkpoint read(Path path) {
    try (FileInputStream file = new FileInputStream(path.toFile())) {
      byte[] format = file.readNBytes(FORMAT_2.length);
      boolean isFormat1 = Arrays.equals(format, FORMAT_1);
      if (!isFormat1 && !Arrays.equals(format, FORMAT_2)) {
        throw CommandException.wrongUse(path + " is not a checkpoint of this program and version");
      }
      if (!isWhole(file)) {
        throw CommandException.wrongUse(
            "The checkpoint " + path + " is damaged or truncated: its SHA-256 does not match");
      }
      file.getChannel().position(FORMAT_2.length);
      return read(new DataInputStream(new BufferedInputStream(file)), isFormat1);
    } catch (IOException e) {
      throw CommandException.wrongUse("Cannot read the checkpoint " + path + ": " + e, e);
    }
  }

  private static Checkpoint read(DataInputStream in, boolean isFormat1) throws IOException {
    Plan plan = new Plan(in.readLong(), in.readInt(), in.readInt(), in.readUTF());
    int epoch = in.readInt();
    byte[] model = readBlock(in);
    List<RankState> ranks =
        isFormat1 ? List.of(new RankState(readBlock(in), new byte[0])) : readRanks(in);
    return new Checkpoint(plan, epoch, model, ranks);
  }

  private static byte[] readBlock(DataInputStream in) throws IOException {
    byte[] block = new byte[in.readInt()];
    in.readFully(block);
    return block;
  }

  /** Returns whether a file ends with the digest of what is before. */
  private static boolean isWhole(FileInputStream file) throws IOException {
    long left = file.getChannel().size() - DIGEST_BYTES;
    file.getChannel().position(0);
    MessageDigest digest = sha256();
    byte[] piece = new byte[1 << 16];
    while (left > 0) {
      int read = file.read(piece, 0, (int) Math.min(left, piece.length));
      if (read < 0) {
        return false;
      }
      digest.update(piece, 0, read);
      left -= read;
    }
    return left == 0 && Arrays.equals(digest.digest(), file.readNBytes(DIGEST_BYTES));
  }

  private static List<RankState> readRanks(DataInputStream in) throws IOException {
    List<RankState> ranks = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      ranks.add(new RankState(readBlock(in), readBlock(in)));
    }
    return ranks;
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }
}
