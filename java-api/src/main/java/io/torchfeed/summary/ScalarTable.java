// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.FileReplacement;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The CSV file of the scalars of a run: a row for each. */
final class ScalarTable {
  static final String NAME = "scalars.csv";

  private static final String HEADER = "step,tag,value,seconds";
  private static final Pattern ROW = Pattern.compile("([0-9]{1,19}),\"([^\"]|\"\")*\",[^,]+,[^,]+");

  private ScalarTable() {}

  /**
   * Makes the table of a folder, or cuts it: the rows from a step on go, and a last row that was
   * not written completely.
   *
   * @throws IOException if the file is no table of scalars, or cannot be written
   */
  static void prepare(Path folder, long end) throws IOException {
    Path path = folder.resolve(NAME);
    if (!Files.exists(path) || Files.size(path) == 0) {
      Files.writeString(path, HEADER + "\n");
    } else if (end < Long.MAX_VALUE || !endsWithLine(path)) {
      FileReplacement.write(path, channel -> copyUntil(end, path, channel));
    }
  }

  static byte[] row(double seconds, long step, String tag, double value) {
    String quoted = '"' + tag.replace("\"", "\"\"") + '"';
    String time = String.format(Locale.ROOT, "%.3f", seconds);
    return "%s,%s,%s,%s\n"
        .formatted(Long.toString(step), quoted, Double.toString(value), time)
        .getBytes(UTF_8);
  }

  private static boolean endsWithLine(Path path) throws IOException {
    try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ)) {
      ByteBuffer last = ByteBuffer.allocate(1);
      return file.read(last, file.size() - 1) == 1 && last.get(0) == '\n';
    }
  }

  private static void copyUntil(long end, Path path, FileChannel target) throws IOException {
    boolean isWhole = endsWithLine(path);
    BufferedWriter kept = new BufferedWriter(Channels.newWriter(target, UTF_8));
    try (BufferedReader lines = Files.newBufferedReader(path)) {
      long number = 1;
      String line = lines.readLine();
      if (!HEADER.equals(line)) {
        throw new IOException(
            "%s is no table of scalars: its first line must be %s; move it, or choose another folder"
                .formatted(path, HEADER));
      }
      for (String next = lines.readLine(); line != null; next = lines.readLine()) {
        boolean isComplete = next != null || isWhole;
        if (isComplete && (number == 1 || stepOf(line, path, number) < end)) {
          kept.write(line + "\n");
        }
        line = next;
        number++;
      }
    }
    kept.flush();
  }

  private static long stepOf(String line, Path path, long number) throws IOException {
    Matcher row = ROW.matcher(line);
    if (!row.matches()) {
      throw new IOException(
          "line %d of %s is no row of a scalar: %s".formatted(number, path, line));
    }
    return Long.parseLong(row.group(1));
  }
}
