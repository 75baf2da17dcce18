// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import java.awt.Transparency;
import java.awt.color.ColorSpace;
import java.awt.image.BufferedImage;
import java.awt.image.ComponentColorModel;
import java.awt.image.DataBuffer;
import java.awt.image.DataBufferByte;
import java.awt.image.Raster;
import java.awt.image.WritableRaster;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A picture as a PNG.
 *
 * @param height in pixels
 * @param width in pixels
 * @param channels 3 for RGB, which grey becomes as PyTorch's does, or 4 for RGBA
 * @param png the file
 */
@SuppressWarnings("ArrayRecordComponent") // it is not compared
record PngImage(int height, int width, int channels, byte[] png) {
  private static final long MAX_PIXELS = (1 << 29) - 1; // of four bytes in an array

  /**
   * Encodes a tensor.
   *
   * @throws IllegalArgumentException if it is no picture
   */
  static PngImage of(Tensor image) {
    long[] shape = image.sizes().vec().get();
    boolean isReal = image.is_floating_point();
    boolean isPicture =
        shape.length == 3
            && (shape[0] == 1 || shape[0] == 3 || shape[0] == 4)
            && shape[1] > 0
            && shape[2] > 0;
    if (!isPicture || !(isReal || image.scalar_type().intern() == torch.ScalarType.Byte)) {
      throw new IllegalArgumentException(
          "an image must be uint8, or floating point in [0, 1], of shape [channels, height, width]"
              + " with 1, 3 or 4 channels, got %s %s"
                  .formatted(image.scalar_type().intern(), Arrays.toString(shape)));
    }
    if (shape[1] > MAX_PIXELS / shape[2]) {
      throw new IllegalArgumentException(
          "an image must have at most 2^29 - 1 pixels, got shape " + Arrays.toString(shape));
    }
    int channels = (int) Math.max(3, shape[0]);
    int height = (int) shape[1];
    int width = (int) shape[2];
    byte[] pixels = new byte[channels * height * width];
    try (PointerScope scope = new PointerScope()) {
      Tensor bytes = (isReal ? scaled(image.detach()) : image).expand(channels, height, width);
      Tensor interleaved = bytes.permute(1, 2, 0).cpu().contiguous();
      new BytePointer(interleaved.data_ptr_byte()).get(pixels);
    }
    return new PngImage(height, width, channels, encode(pixels, height, width, channels));
  }

  private static Tensor scaled(Tensor image) {
    return image
        .to(torch.ScalarType.Float)
        .mul(new Scalar(255))
        .nan_to_num()
        .clamp(new ScalarOptional(new Scalar(0)), new ScalarOptional(new Scalar(255)))
        .to(torch.ScalarType.Byte);
  }

  private static byte[] encode(byte[] pixels, int height, int width, int channels) {
    int[] offsets = IntStream.range(0, channels).toArray();
    WritableRaster raster =
        Raster.createInterleavedRaster(
            new DataBufferByte(pixels, pixels.length),
            width,
            height,
            width * channels,
            channels,
            offsets,
            null);
    boolean hasAlpha = channels == 4;
    ComponentColorModel colors =
        new ComponentColorModel(
            ColorSpace.getInstance(ColorSpace.CS_sRGB),
            hasAlpha,
            false,
            hasAlpha ? Transparency.TRANSLUCENT : Transparency.OPAQUE,
            DataBuffer.TYPE_BYTE);
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    try {
      if (!ImageIO.write(new BufferedImage(colors, raster, false, null), "png", png)) {
        throw new IllegalStateException("this JDK writes no PNG files");
      }
    } catch (IOException e) { // a file for its cache
      throw new UncheckedIOException("cannot encode an image of a summary", e);
    }
    return png.toByteArray();
  }
}
