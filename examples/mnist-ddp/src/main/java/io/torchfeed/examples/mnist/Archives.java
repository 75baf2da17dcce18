// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.ByteArrayOutputStream;
import java.util.function.Consumer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.ArchiveWriter;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.DeviceOptional;
import org.bytedeco.pytorch.InputArchive;
import org.bytedeco.pytorch.OutputArchive;

/** Conversions of modules and optimizers to and from byte arrays, in libtorch's archive format. */
final class Archives {
  private Archives() {}

  @SuppressWarnings("try") // a scope works by being open
  static byte[] write(Consumer<OutputArchive> content) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (PointerScope scope = new PointerScope();
        OutputArchive archive = new OutputArchive();
        Collector collector = new Collector(bytes)) {
      content.accept(archive);
      archive.save_to(collector);
    }
    return bytes.toByteArray();
  }

  /**
   * Reads an archive.
   *
   * @param device the name of the device of the tensors, wherever they were when they were written
   */
  @SuppressWarnings("try") // a scope works by being open
  static void read(byte[] bytes, String device, Consumer<InputArchive> content) {
    try (PointerScope scope = new PointerScope();
        BytePointer pointer = new BytePointer(bytes);
        InputArchive archive = new InputArchive()) {
      archive.load_from(pointer, bytes.length, new DeviceOptional(new Device(device)));
      content.accept(archive);
    }
  }

  /** A writer that collects an archive; libtorch calls it with each piece. */
  private static final class Collector extends ArchiveWriter {
    private final ByteArrayOutputStream bytes;

    Collector(ByteArrayOutputStream bytes) {
      this.bytes = bytes;
    }

    @Override
    public long call(Pointer from, long count) {
      byte[] piece = new byte[Math.toIntExact(count)];
      try (BytePointer pointer = new BytePointer(from)) {
        pointer.get(piece);
      }
      bytes.writeBytes(piece);
      return count;
    }
  }
}
