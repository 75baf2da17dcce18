// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.ByteSourceException.Problem;
import io.torchfeed.storage.ReadAhead;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Files of HDFS that are read, replaced, continued and deleted. */
@Tag("cluster")
class HdfsSourceTest {
  private static final int BLOCK = 1 << 20;
  private static final int SIZE = 3 * BLOCK + 77;

  private static void write(FileSystem files, Path path, byte[] content) throws Exception {
    try (OutputStream out = files.create(path, true, 4096, (short) 1, BLOCK)) {
      out.write(content);
    }
  }

  @Test
  void aFileIsReadUntilItChanges() throws Exception {
    MiniDFSCluster hdfs = HdfsCluster.start();
    try {
      DistributedFileSystem files = hdfs.getFileSystem();
      byte[] all = HadoopSourceTest.bytes(SIZE, 1);
      Path path = new Path("/data/train.csv");
      write(files, path, all);
      Configuration hadoop = new Configuration();
      String uri = hdfs.getURI() + "/data/train.csv";
      try (ByteSource source = ReadAhead.of(HadoopSource.of(uri, hadoop), 100_000, 4)) {
        assertThat(source.name()).startsWith("localhost:").endsWith("/data/train.csv");
        ByteBuffer read = ByteBuffer.allocate(SIZE);
        source.readFully(0, read.limit(10));
        source.readFully(10, read.limit(SIZE));
        assertThat(read.array()).isEqualTo(all);
      }

      Path other = new Path("/data/other");
      write(files, other, HadoopSourceTest.bytes(SIZE, 3));
      refuses(
          uri,
          hadoop,
          "its time of modification",
          () -> files.rename(other, path, Options.Rename.OVERWRITE));
      refuses(
          uri,
          hadoop,
          "its length was %d and is now %d".formatted(SIZE, SIZE + 1),
          () -> {
            try (OutputStream out = files.append(path)) {
              out.write(1);
            }
          });
      refuses(
          uri,
          hadoop,
          "its length was %d and is now 10".formatted(SIZE + 1),
          () -> write(files, path, new byte[10]));
      refuses(uri, hadoop, "it was deleted", () -> files.delete(path, false));
    } finally {
      hdfs.shutdown();
    }
  }

  private interface Change {
    void make() throws Exception;
  }

  private static void refuses(String uri, Configuration hadoop, String message, Change change)
      throws Exception {
    try (HadoopSource source = HadoopSource.of(uri, hadoop)) {
      assertThat(HadoopSourceTest.read(source, 0, 5)).hasSize(5);
      change.make();
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> HadoopSourceTest.read(source, 5, 5))
          .withMessageContaining(message)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.CHANGED));
    }
  }
}
