// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The format of a file that is in another one than the reader expects. */
public final class FileContent {
  /** The number of bytes at the beginning that show it. */
  public static final int BEGIN_BYTES = 512;

  private static final int USTAR_AT = 257;
  private static final int LENGTH_BYTES = 8;
  private static final String NO_TENSORS = "\2\0\0\0\0\0\0\0{}";
  private static final int QUOTED = 60;
  private static final int DELETE = 0x7f;
  private static final int FIRST_OF_LATIN_1 = 0xa0;
  private static final char NO_LETTER = '\ufffd';

  /** The first bytes of a format, in ISO 8859-1, with its name and the cure. */
  private static final Map<String, String> MAGICS = new LinkedHashMap<>();

  static {
    MAGICS.put(
        "version https://git-lfs.github.com/",
        "a Git LFS pointer in the place of the file; get the file by git lfs pull");
    MAGICS.put(
        "# xet version",
        "a Git-Xet pointer in the place of the file; get the file by git xet checkout, or download"
            + " it");
    MAGICS.put(
        "PK\3\4",
        "a zip archive, as torch.save (open it by TorchFile) and numpy.savez (by FileColumn.npz or"
            + " NumpyFile) write, or one to be unpacked first");
    MAGICS.put("\u0093NUMPY", "an npy file of numpy.save; open it by FileColumn.npy or NumpyFile");
    MAGICS.put("\u001f\u008b", "a gzip file; unpack it first");
    MAGICS.put("BZh", "a bzip2 file; unpack it first");
    MAGICS.put("\u00fd7zXZ\0", "an xz file; unpack it first");
    MAGICS.put("(\u00b5/\u00fd", "a zstd file; unpack it first");
    MAGICS.put("7z\u00bc\u00af'\u001c", "a 7z archive; unpack it first");
    MAGICS.put("\u0089HDF\r\n\u001a\n", "an HDF5 file, as Keras writes; convert it in Python");
    MAGICS.put("\u0004\"M\u0018", "an lz4 file; unpack it first");
    MAGICS.put("\u00ff\u00d8\u00ff", "a JPEG image");
    MAGICS.put("\u0089PNG\r\n", "a PNG image");
    MAGICS.put("%PDF", "a PDF document");
    MAGICS.put("PAR1", "a Parquet file; torchfeed-parquet reads it");
    MAGICS.put("MATLAB 5.0", "a MATLAB file; convert it in Python, by scipy.io.loadmat");
    MAGICS.put("GGUF", "a GGUF file, as llama.cpp reads; take the safetensors file of the model");
  }

  private FileContent() {}

  /**
   * Returns the name of a format, and the cure, if the first bytes of a file show it.
   *
   * @param begin the first {@link #BEGIN_BYTES}, or all of a shorter file
   * @return such as "a gzip file; unpack it first"; null if it is unknown
   */
  public static @Nullable String of(byte[] begin) {
    String text = new String(begin, StandardCharsets.ISO_8859_1);
    if (text.isEmpty()) {
      return "an empty file; write or download it again";
    }
    for (Map.Entry<String, String> magic : MAGICS.entrySet()) {
      if (text.startsWith(magic.getKey())) {
        return magic.getValue();
      }
    }
    if (text.matches("(?s)\u0080[\2-\5].*")) {
      return "a Python pickle, as torch.save wrote before 1.6; open it by TorchFile";
    }
    if (text.startsWith("ustar", USTAR_AT)) {
      return "a tar archive; unpack it first";
    }
    if (text.startsWith("{\"", LENGTH_BYTES) || text.startsWith(NO_TENSORS)) {
      return "a safetensors file; open it by SafetensorsFile";
    }
    return ofText(text.replaceFirst("^\u00ef\u00bb\u00bf", "").strip(), begin);
  }

  /** Returns whether a result of {@link #of} names a text of no known format. */
  public static boolean isText(String content) {
    return content.startsWith("a text");
  }

  private static @Nullable String ofText(String text, byte[] begin) {
    String start = text.toLowerCase(Locale.ROOT);
    if (start.startsWith("<!doctype html") || start.startsWith("<html")) {
      return "a web page in the place of the file, for example of a login or an error; download"
          + " the file itself";
    }
    if (start.startsWith("<?xml")) {
      return "an XML document in the place of the file, for example a store's error; download the"
          + " file itself";
    }
    if (start.matches("(?s)\\{\\s*\".*")) {
      return "a JSON text, for example a server's error or the index of several files; open an"
          + " index by IndexedTensors";
    }
    String decoded = new String(begin, StandardCharsets.UTF_8).replaceFirst("^\ufeff", "").strip();
    int wrong = decoded.indexOf(NO_LETTER);
    if (wrong >= 0 && wrong < decoded.length() - 1) { // more than a letter that is cut
      boolean isMostlyAscii =
          text.chars().filter(letter -> letter < DELETE).count() > text.length() / 2;
      if (!isMostlyAscii
          || text.chars().anyMatch(letter -> letter > DELETE && letter < FIRST_OF_LATIN_1)) {
        return null;
      }
      decoded = text;
    }
    if (start.isEmpty() || !text.chars().allMatch(FileContent::isOfText)) {
      return null;
    }
    String line = decoded.lines().findFirst().orElse("");
    return "a text that begins with \"%s\", for example a server's answer; download the file itself"
        .formatted(Quotes.printable(Quotes.shortened(line, QUOTED)));
  }

  /** Returns whether a byte is in texts: printable, a blank, or a part of a letter in UTF-8. */
  private static boolean isOfText(int letter) {
    return letter >= ' ' ? letter != DELETE : letter == '\t' || letter == '\n' || letter == '\r';
  }
}
