// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Random;

/** A small data set in the format of MNIST. */
final class RandomMnist {
  private static final int IMAGES = 64;

  private RandomMnist() {}

  /** Writes images and labels at random to a new folder, and returns it. */
  static Path write(Path folder) throws IOException {
    Path data = Files.createDirectory(folder);
    Random random = new Random(1);
    for (String part : List.of("train", "t10k")) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (DataOutputStream images = new DataOutputStream(bytes)) {
        for (int number : new int[] {0x803, IMAGES, 28, 28}) {
          images.writeInt(number);
        }
        byte[] pixels = new byte[IMAGES * 28 * 28];
        random.nextBytes(pixels);
        images.write(pixels);
      }
      Files.write(data.resolve(part + "-images-idx3-ubyte"), bytes.toByteArray());
      bytes.reset();
      try (DataOutputStream labels = new DataOutputStream(bytes)) {
        labels.writeInt(0x801);
        labels.writeInt(IMAGES);
        for (int i = 0; i < IMAGES; i++) {
          labels.writeByte(random.nextInt(10));
        }
      }
      Files.write(data.resolve(part + "-labels-idx1-ubyte"), bytes.toByteArray());
    }
    return data;
  }
}
