// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS for tests, on the loopback interface. */
public final class HdfsCluster {
  private HdfsCluster() {}

  /** Starts a namenode and a datanode in this JVM; the caller shuts them down. */
  public static MiniDFSCluster start() throws IOException {
    Configuration conf = new Configuration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, TestSpark.folder("hdfs").toString());
    MiniDFSCluster hdfs = new MiniDFSCluster.Builder(conf).numDataNodes(1).build();
    hdfs.waitActive();
    return hdfs;
  }
}
