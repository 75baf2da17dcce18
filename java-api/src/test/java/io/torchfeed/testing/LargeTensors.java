// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.internal.FreeMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * Tensors with more bytes than numbers of 32 bits can count. The allocator takes memory of such a
 * size from the system page by page, and only pages that are written exist: so tests mark the bytes
 * at which counts overflow, and look for these marks.
 */
public final class LargeTensors {
  /** 2.1 GiB: more than an int counts. */
  public static final long ABOVE_2_GIB = 2_254_857_840L;

  /** 4.2 GiB: more than 32 bits count. */
  public static final long ABOVE_4_GIB = 4_509_715_664L;

  private static final long GIB = 1L << 30;

  /** Makes a folder in memory, if there is such a file system: it reads holes at no expense. */
  public static final class InMemory implements TempDirFactory {
    private static final Path MEMORY = Path.of("/dev/shm");

    @Override
    public Path createTempDirectory(
        AnnotatedElementContext elementContext, ExtensionContext extensionContext)
        throws IOException {
      return Files.isWritable(MEMORY)
          ? Files.createTempDirectory(MEMORY, "torchfeed")
          : Files.createTempDirectory("torchfeed");
    }
  }

  private LargeTensors() {}

  /** Skips a test that would take more memory than there is. */
  public static void assumeMemory(long bytes) {
    long most = Pointer.maxPhysicalBytes();
    assumeTrue(
        most == 0 || most > bytes + GIB,
        () ->
            "needs %.1f GiB, JavaCPP allows the process %.1f: run java-api/test-large"
                .formatted(gib(bytes), gib(most)));
    OptionalLong free = FreeMemory.bytes();
    assumeTrue(
        free.isEmpty() || free.getAsLong() > bytes + GIB,
        () ->
            "needs %.1f GiB of memory and 1 to spare, %.1f are free"
                .formatted(gib(bytes), gib(free.getAsLong())));
  }

  /** Skips a test that would fill a disk. */
  public static void assumeDisk(Path folder, long bytes) throws IOException {
    long free = Files.getFileStore(folder).getUsableSpace();
    assumeTrue(
        free > bytes + GIB,
        () ->
            "needs %.1f GiB on the disk of %s and 1 to spare, %.1f are free"
                .formatted(gib(bytes), folder, gib(free)));
  }

  private static double gib(long bytes) {
    return (double) bytes / GIB;
  }

  /** Returns a tensor whose bytes have no defined values. */
  public static Tensor empty(ScalarType type, long bytes) {
    long elements = bytes / torch.elementSize(type);
    return torch.empty(new long[] {elements}, new TensorOptions(type), null);
  }

  /** Returns a tensor of bytes with marks. */
  public static Tensor marked(long bytes) {
    Tensor tensor = empty(ScalarType.Byte, bytes);
    mark(tensor);
    return tensor;
  }

  /** Returns the places at which a number of bytes may overflow, and the first and last ones. */
  public static long[] places(long bytes) {
    LongStream edges = LongStream.of(1L << 31, 1L << 32).flatMap(LargeTensors::around);
    LongStream within = LongStream.concat(LongStream.of(0, 1, bytes - 2, bytes - 1), edges);
    return within.filter(at -> at < bytes).sorted().distinct().toArray();
  }

  private static LongStream around(long edge) {
    return LongStream.rangeClosed(edge - 2, edge + 1);
  }

  /** Marks the bytes of a contiguous tensor at each of its places. */
  public static void mark(Tensor tensor) {
    BytePointer data = new BytePointer(tensor.data_ptr());
    long[] places = places(tensor.nbytes());
    for (int i = 0; i < places.length; i++) {
      data.put(places[i], (byte) (i + 1));
    }
  }

  /** Asserts that each mark has been multiplied by a factor. */
  public static void assertMarked(Tensor tensor, int factor) {
    BytePointer data = new BytePointer(tensor.data_ptr());
    long[] places = places(tensor.nbytes());
    byte[] expected = new byte[places.length];
    byte[] found = new byte[places.length];
    for (int i = 0; i < places.length; i++) {
      expected[i] = (byte) (factor * (i + 1));
      found[i] = data.get(places[i]);
    }
    assertThat(found).as("bytes at %s", Arrays.toString(places)).isEqualTo(expected);
  }

  public static void assertMarked(Tensor tensor) {
    assertMarked(tensor, 1);
  }
}
