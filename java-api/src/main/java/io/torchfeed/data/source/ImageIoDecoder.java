// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.awt.AlphaComposite;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import javax.imageio.ImageIO;
import javax.imageio.stream.MemoryCacheImageInputStream;

/** The decoder of the JDK. */
final class ImageIoDecoder implements ImageDecoder {
  private final int height;
  private final int width;
  private final RowSpec row;

  private ImageIoDecoder(int height, int width) {
    this.height = height;
    this.width = width;
    this.row = RowSpec.of(DType.UINT8, 3, height, width);
  }

  static ImageIoDecoder of(int height, int width) {
    if (height < 1 || width < 1) {
      throw new IllegalArgumentException(
          "height and width must be at least 1, got %d and %d".formatted(height, width));
    }
    if (ModuleLayer.boot().findModule("java.desktop").isEmpty()) {
      throw new IllegalStateException(
          "images are decoded by the module java.desktop, which this program lacks;"
              + " add --add-modules java.desktop");
    }
    return new ImageIoDecoder(height, width);
  }

  @Override
  public RowSpec row() {
    return row;
  }

  @Override
  public void decode(byte[] encoded, SampleWriter sample, int column) throws IOException {
    // Avoids the temporary files that ImageIO creates by default.
    BufferedImage image =
        ImageIO.read(new MemoryCacheImageInputStream(new ByteArrayInputStream(encoded)));
    if (image == null) {
      throw new IOException("its format is not one that the JDK decodes");
    }
    sample.put(column, planes(scaled(image, height, width)));
  }

  /** Returns the pixels by color, then row, then column. */
  private static byte[] planes(BufferedImage image) {
    int width = image.getWidth();
    int[] pixels = image.getRGB(0, 0, width, image.getHeight(), null, 0, width);
    byte[] planes = new byte[3 * pixels.length];
    for (int i = 0; i < pixels.length; i++) {
      planes[i] = (byte) (pixels[i] >> 16);
      planes[pixels.length + i] = (byte) (pixels[i] >> 8);
      planes[2 * pixels.length + i] = (byte) pixels[i];
    }
    return planes;
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
