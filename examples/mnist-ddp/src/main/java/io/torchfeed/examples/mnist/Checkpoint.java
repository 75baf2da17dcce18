// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * The state that a run needs to continue after an epoch exactly as if it had not stopped.
 *
 * <p>It holds no random state: dropout's stream and the sample order are functions of seed, rank
 * and epoch, so (seed, epoch) determines it.
 */
final class Checkpoint {
  /** First bytes of the file; the digit is the version of the format. */
  private static final byte[] MAGIC =
      "torchfeed mnist-ddp checkpoint 1\n".getBytes(StandardCharsets.US_ASCII);

  private static final int DIGEST_BYTES = 32;

  private final Plan plan;
  private final int epoch;
  private final byte[] model;
  private final byte[] optimizer;

  /**
   * Creates the state after an epoch; keeps references to the arrays.
   *
   * @param plan the settings that determine the order of samples
   * @param epoch number of epochs completed, at least 1
   * @param model libtorch's archive of the parameters
   * @param optimizer libtorch's archive of the optimizer, momentum buffers included
   */
  Checkpoint(Plan plan, int epoch, byte[] model, byte[] optimizer) {
    this.plan = plan;
    this.epoch = epoch;
    this.model = model;
    this.optimizer = optimizer;
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

  byte[] optimizer() {
    return optimizer;
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

  byte[] toBytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(model.length + optimizer.length + 512);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.write(MAGIC);
      out.writeLong(plan.seed);
      out.writeInt(plan.ranks);
      out.writeInt(plan.batchSize);
      out.writeUTF(plan.sampler);
      out.writeInt(epoch);
      out.writeInt(model.length);
      out.write(model);
      out.writeInt(optimizer.length);
      out.write(optimizer);
      out.write(sha256(bytes.toByteArray(), bytes.size()));
    } catch (IOException e) {
      throw new IllegalStateException("A write into memory failed", e);
    }
    return bytes.toByteArray();
  }

  /**
   * Reads and verifies a checkpoint.
   *
   * @throws CommandException if the file cannot be read, is truncated or was changed
   */
  static Checkpoint read(Path file) {
    byte[] bytes;
    try {
      bytes = Files.readAllBytes(file);
    } catch (IOException e) {
      throw CommandException.wrongUse("Cannot read the checkpoint " + file + ": " + e, e);
    }
    if (bytes.length < MAGIC.length
        || !Arrays.equals(bytes, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
      throw CommandException.wrongUse(
          file + " is not a checkpoint of this program and version", null);
    }
    int end = bytes.length - DIGEST_BYTES;
    if (end < MAGIC.length
        || !Arrays.equals(sha256(bytes, end), Arrays.copyOfRange(bytes, end, bytes.length))) {
      throw CommandException.wrongUse(
          "The checkpoint " + file + " is damaged or truncated: its SHA-256 does not match", null);
    }
    try (DataInputStream in =
        new DataInputStream(new ByteArrayInputStream(bytes, MAGIC.length, end - MAGIC.length))) {
      Plan plan = new Plan(in.readLong(), in.readInt(), in.readInt(), in.readUTF());
      int epoch = in.readInt();
      byte[] model = in.readNBytes(in.readInt());
      byte[] optimizer = in.readNBytes(in.readInt());
      return new Checkpoint(plan, epoch, model, optimizer);
    } catch (IOException e) {
      throw CommandException.wrongUse("The checkpoint " + file + " is malformed", e);
    }
  }

  private static byte[] sha256(byte[] bytes, int length) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(bytes, 0, length);
      return digest.digest();
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }
}
