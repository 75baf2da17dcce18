// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.examples.common.OutputFile;
import io.torchfeed.sampler.torch.RandomSampler;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import javax.imageio.ImageIO;
import org.bytedeco.pytorch.Tensor;

/** An image of training samples as the net sees them, before their normalization. */
final class SampleSheet {
  private static final int COLUMNS = 8;
  private static final int ROWS = 4;

  private SampleSheet() {}

  static void write(Images source, long seed, Path file) throws IOException {
    int size = Math.toIntExact(source.plan().row().shape().get(1));
    BufferedImage sheet =
        new BufferedImage(COLUMNS * size, ROWS * size, BufferedImage.TYPE_INT_RGB);
    try (NativeDataset images = source.open();
        DataLoader loader =
            DataLoader.over(images)
                .sampler(RandomSampler.of(images.size(), seed))
                .batchSize((int) Math.min(images.size(), (long) COLUMNS * ROWS))
                .workers(1)
                .seed(seed)
                .build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      Graphics2D graphics = sheet.createGraphics();
      for (int i = 0; i < batch.size(); i++) {
        int[] rgb = pixels(batch.tensor(0), i, size);
        BufferedImage image = new BufferedImage(size, size, BufferedImage.TYPE_INT_RGB);
        image.setRGB(0, 0, size, size, rgb, 0, size);
        graphics.drawImage(image, i % COLUMNS * size, i / COLUMNS * size, null);
      }
      graphics.dispose();
    }
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    ImageIO.write(sheet, "png", png);
    OutputFile.write(file, png.toByteArray());
  }

  /**
   * Returns the pixels of an image, row by row.
   *
   * @param images uint8 [B, 3, size, size]
   */
  private static int[] pixels(Tensor images, int number, int size) {
    int plane = size * size;
    byte[] bytes = new byte[3 * plane];
    try (Tensor image = images.select(0, number)) {
      image.data_ptr_byte().get(bytes);
    }
    int[] rgb = new int[plane];
    for (int i = 0; i < plane; i++) {
      rgb[i] = (bytes[i] & 0xff) << 16;
      rgb[i] |= (bytes[plane + i] & 0xff) << 8;
      rgb[i] |= bytes[2 * plane + i] & 0xff;
    }
    return rgb;
  }
}
