// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.spark.HdfsCluster;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.util.Progressable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The file that says that a checkpoint is complete, when its writer is lost. */
@Tag("cluster")
class HdfsMarkerTest {
  private static final String JOB = "0123456789abcdef";

  /** A client that is lost when all bytes of a file are written, and the file is not closed. */
  public static final class Lost extends DistributedFileSystem {
    @Override
    public FSDataOutputStream create(
        Path file,
        FsPermission permission,
        boolean overwrite,
        int buffer,
        short replication,
        long block,
        Progressable progress)
        throws IOException {
      FSDataOutputStream open =
          super.create(file, permission, overwrite, buffer, replication, block, progress);
      return new FSDataOutputStream(open, null) {
        @Override
        public void close() throws IOException {
          open.hflush();
          throw new IOException("the client is lost");
        }
      };
    }
  }

  @Test
  void aMarkerThatWasNotClosedLeavesTheCheckpointsBeforeReadable() throws Exception {
    MiniDFSCluster hdfs = HdfsCluster.start();
    try {
      String path = hdfs.getURI() + "/models";
      Configuration conf = new Configuration();
      conf.setClass("fs.hdfs.impl", Lost.class, DistributedFileSystem.class);
      conf.setBoolean("fs.hdfs.impl.disable.cache", true);
      HadoopFolder folder = new HadoopFolder(path, new Configuration());
      String whole = HadoopFolder.nameOf(1, JOB, 0);
      folder.complete(whole, List.of("digest"), Optional.empty());
      assertThatThrownBy(
              () ->
                  new HadoopFolder(path, conf)
                      .complete(
                          HadoopFolder.nameOf(2, JOB, 0), List.of("digest"), Optional.empty()))
          .hasMessage("the client is lost");
      hdfs.restartDataNode(0); // it no longer knows how long the open file is
      hdfs.waitActive();

      assertThat(folder.complete()).containsExactly(whole);
      folder.complete(HadoopFolder.nameOf(3, JOB, 0), List.of("digest"), Optional.empty());
      folder.deleteOld(1, 0);
      assertThat(hdfs.getFileSystem().listStatus(new Path(path)))
          .extracting(status -> status.getPath().getName())
          .containsExactly(HadoopFolder.nameOf(3, JOB, 0));
    } finally {
      hdfs.shutdown();
    }
  }
}
