// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** The four files of MNIST with their published checksums. */
public enum MnistFile {
  /** The images to train with. */
  TRAIN_IMAGES("train-images-idx3-ubyte", "6bbc9ace898e44ae57da46a324031adb"),

  /** Their labels. */
  TRAIN_LABELS("train-labels-idx1-ubyte", "a25bea736e30d166cdddb491f175f624"),

  /** The images to test with. */
  TEST_IMAGES("t10k-images-idx3-ubyte", "2646ac647ad5339dbf082846283269ea"),

  /** Their labels. */
  TEST_LABELS("t10k-labels-idx1-ubyte", "27ae3e4e09519cfbb04c329615203637");

  private final String fileName;
  private final String md5;

  MnistFile(String fileName, String md5) {
    this.fileName = fileName;
    this.md5 = md5;
  }

  String fileName() {
    return fileName;
  }

  String md5() {
    return md5;
  }

  /**
   * Returns the path of the file in a folder.
   *
   * @param folder with the files of MNIST
   * @return the path
   */
  public Path in(Path folder) {
    return folder.resolve(fileName);
  }

  /**
   * Throws if the content of the file differs.
   *
   * @throws CommandException if it differs; names the file and both checksums
   */
  void verify(Path file) throws IOException {
    String actual = md5(file);
    if (!actual.equals(md5)) {
      throw new CommandException(
          file + " is not MNIST's " + fileName + ": its MD5 is " + actual + ", expected " + md5);
    }
  }

  private static String md5(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      MessageDigest digest = MessageDigest.getInstance("MD5");
      byte[] block = new byte[1 << 16];
      for (int n = in.read(block); n >= 0; n = in.read(block)) {
        digest.update(block, 0, n);
      }
      return HexFormat.of().formatHex(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has MD5", e);
    }
  }
}
