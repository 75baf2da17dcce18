// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import java.awt.AlphaComposite;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** A decoder that reads and scales images. */
final class ImagePixels {
  private ImagePixels() {}

  /** Returns the pixels of an image, by color, then row, then column. */
  static byte[] read(Path file, int height, int width) throws IOException {
    BufferedImage image = scaled(decode(file), height, width);
    int[] pixels = image.getRGB(0, 0, width, height, null, 0, width);
    byte[] planes = new byte[3 * pixels.length];
    for (int i = 0; i < pixels.length; i++) {
      planes[i] = (byte) (pixels[i] >> 16);
      planes[pixels.length + i] = (byte) (pixels[i] >> 8);
      planes[2 * pixels.length + i] = (byte) pixels[i];
    }
    return planes;
  }

  private static BufferedImage decode(Path file) throws IOException {
    RegularFile.require(file);
    BufferedImage image;
    try (InputStream bytes = new BufferedInputStream(Files.newInputStream(file))) {
      // Avoids the temporary files that ImageIO creates by default; it closes the stream of an
      // image it can decode.
      image = ImageIO.read(new MemoryCacheImageInputStream(bytes));
    } catch (IOException | RuntimeException e) { // decoders may throw anything for corrupt bytes
      throw new IOException(
          "%s cannot be decoded as an image: %s".formatted(file, Failures.reason(e)), e);
    }
    if (image == null) {
      throw new IOException(file + " is not an image in a format that the JDK decodes");
    }
    return image;
  }

  /**
   * Scales the image, halving it while it stays large enough, since a bilinear step covers 2x2
   * pixels.
   */
  private static BufferedImage scaled(BufferedImage image, int height, int width) {
    BufferedImage scaled = image;
    int w = image.getWidth();
    int h = image.getHeight();
    boolean isRgb = image.getType() == BufferedImage.TYPE_INT_RGB;
    while (w != width || h != height || !isRgb) {
      w = next(w, width);
      h = next(h, height);
      scaled = drawn(scaled, h, w);
      isRgb = true;
    }
    return scaled;
  }

  private static int next(int size, int target) {
    return size / 2 >= target ? (size + 1) / 2 : target;
  }

  private static BufferedImage drawn(BufferedImage image, int height, int width) {
    BufferedImage result = new BufferedImage(width, height, BufferedImage.TYPE_INT_RGB);
    Graphics2D graphics = result.createGraphics();
    try {
      graphics.setComposite(AlphaComposite.SrcOver);
      graphics.setRenderingHint(
          RenderingHints.KEY_INTERPOLATION, RenderingHints.VALUE_INTERPOLATION_BILINEAR);
      graphics.drawImage(image, 0, 0, width, height, null);
    } finally {
      graphics.dispose();
    }
    return result;
  }
}
