// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * An idx file of unsigned bytes, the format of MNIST.
 *
 * @param dimensions sizes, outermost first
 * @param values the bytes, a read-only view of the mapped file
 */
record Idx(List<Integer> dimensions, ByteBuffer values) {
  private static final int UNSIGNED_BYTE = 0x08;

  /** Maps a file into memory. */
  static Idx map(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      return parse(file.toString(), channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()));
    }
  }

  static Idx parse(String name, ByteBuffer bytes) {
    if (bytes.remaining() < 4) {
      throw malformed(name, "is shorter than its 4-byte magic number");
    }
    int magic = bytes.getInt();
    int rank = magic & 0xff;
    if (magic >>> 8 != UNSIGNED_BYTE || rank == 0) {
      throw malformed(name, String.format("has magic number 0x%08x, not 0x000008NN", magic));
    }
    if (bytes.remaining() < 4 * rank) {
      throw malformed(name, "ends within its header");
    }
    Integer[] dimensions = new Integer[rank];
    long expected = 1;
    for (int i = 0; i < rank; i++) {
      dimensions[i] = bytes.getInt();
      if (dimensions[i] < 0) {
        throw malformed(name, "has a negative dimension");
      }
      expected = Math.multiplyExact(expected, (long) dimensions[i]);
    }
    if (expected != bytes.remaining()) {
      throw malformed(
          name, "holds " + bytes.remaining() + " values; its header says " + expected + " values");
    }
    return new Idx(List.of(dimensions), bytes.slice());
  }

  private static CommandException malformed(String name, String what) {
    return new CommandException(name + " " + what + "; delete it and start again");
  }
}
