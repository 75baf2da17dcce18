// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * A decoder in the place of nvJPEG that decodes on the CPU and copies to its device. As nvJPEG, it
 * reads baseline and progressive JPEGs in grey or color, and its engines only baseline ones in
 * color.
 */
final class CpuImages implements WholeImages {
  private static final int BASELINE = 0xc0;
  private static final int PROGRESSIVE = 0xc2;

  /** The numbers of images that were given to the engines at once, in order. */
  final List<Integer> together = new ArrayList<>();

  private final Device device;
  private boolean isClosed;

  CpuImages(Device device) {
    this.device = device;
  }

  /** The frame header of a JPEG. */
  private record Frame(int marker, int height, int width, int components) {
    static @Nullable Frame of(byte[] file) {
      int at = 2;
      while (at + 9 < file.length && (file[at] & 0xff) == 0xff) {
        int marker = file[at + 1] & 0xff;
        if (marker >= BASELINE && marker <= PROGRESSIVE) {
          return new Frame(marker, number(file, at + 5), number(file, at + 7), file[at + 9]);
        }
        at += 2 + number(file, at + 2);
      }
      return null;
    }

    private static int number(byte[] file, int at) {
      return (file[at] & 0xff) << 8 | (file[at + 1] & 0xff);
    }
  }

  @Override
  public Tensor decode(byte[] encoded, long maxPixels) {
    Frame frame = Frame.of(encoded);
    if (frame == null || frame.components == 4) {
      throw new ImageException("refused");
    }
    return pixels(encoded, frame);
  }

  private Tensor pixels(byte[] encoded, Frame frame) {
    Tensor row =
        ImagePlan.builder().resize(frame.height, frame.width).build().decoded(encoded, 0, 0, 0);
    return row.to(device, ScalarType.Byte);
  }

  @Override
  public @Nullable Tensor[] decodeTogether(List<byte[]> images, long maxPixels) {
    together.add(images.size());
    @Nullable Tensor[] decoded = new @Nullable Tensor[images.size()];
    for (int i = 0; i < decoded.length; i++) {
      Frame frame = Frame.of(images.get(i));
      if (frame != null && frame.marker == BASELINE && frame.components == 3) {
        decoded[i] = pixels(images.get(i), frame).to(ScalarType.Float);
      }
    }
    return decoded;
  }

  boolean isClosed() {
    return isClosed;
  }

  @Override
  public void close() {
    isClosed = true;
  }
}
