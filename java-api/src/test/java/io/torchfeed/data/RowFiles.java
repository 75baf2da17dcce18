// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Tensor;

/** Files of rows for tests. */
public final class RowFiles {
  private RowFiles() {}

  /** Returns the elements of a contiguous tensor in memory order. */
  public static byte[] bytesOf(Tensor tensor) {
    byte[] bytes = new byte[(int) tensor.nbytes()];
    if (bytes.length > 0) {
      new BytePointer(tensor.data_ptr()).get(bytes);
    }
    return bytes;
  }

  public static byte[] reversed(byte[] bytes, int unitBytes) {
    byte[] reversed = new byte[bytes.length];
    for (int i = 0; i < bytes.length; i++) {
      int unit = i / unitBytes * unitBytes;
      reversed[i] = bytes[unit + unitBytes - 1 - i % unitBytes];
    }
    return reversed;
  }

  public static byte[] idx(int code, byte[] bigEndianElements, int... shape) {
    ByteBuffer file =
        ByteBuffer.allocate(4 + 4 * shape.length + bigEndianElements.length)
            .putShort((short) 0)
            .put((byte) code)
            .put((byte) shape.length);
    for (int size : shape) {
      file.putInt(size);
    }
    return file.put(bigEndianElements).array();
  }

  public static byte[] npy(int version, String header, int elementBytes) {
    byte[] text = header.getBytes(UTF_8);
    ByteBuffer file =
        ByteBuffer.allocate((version == 1 ? 10 : 12) + text.length + elementBytes)
            .order(ByteOrder.LITTLE_ENDIAN)
            .put(new byte[] {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y', (byte) version, 0});
    if (version == 1) {
      file.putShort((short) text.length);
    } else {
      file.putInt(text.length);
    }
    return file.put(text).array();
  }

  public static Path write(Path file, byte[] bytes) {
    try {
      return Files.write(file, bytes);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public static void truncate(Path file, long bytes) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      channel.truncate(bytes);
    }
  }

  /** Returns the number of open descriptors for files whose path starts with the folder's. */
  public static long openIn(Path folder) throws IOException {
    String prefix = folder.toRealPath() + "/";
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      return descriptors.filter(descriptor -> targetOf(descriptor).startsWith(prefix)).count();
    }
  }

  private static String targetOf(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString();
    } catch (IOException e) {
      return ""; // closed in the meantime
    }
  }
}
