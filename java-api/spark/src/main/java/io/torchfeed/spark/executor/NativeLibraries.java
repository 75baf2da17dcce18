// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.executor;

import io.torchfeed.Torchfeed;
import io.torchfeed.internal.Failures;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.bytedeco.pytorch.global.torch;

/** libtorch on an executor. */
final class NativeLibraries {
  private static final String MEMORY = "org.bytedeco.javacpp.maxPhysicalBytes";

  private NativeLibraries() {}

  /**
   * Loads libtorch, and gives it as many threads as the task of this thread has cores.
   *
   * @throws SparkRanksException if it cannot be loaded
   */
  static void load() {
    if (System.getProperty(MEMORY) == null) { // read when JavaCPP is loaded
      System.setProperty(MEMORY, "0");
    }
    try {
      Torchfeed.load();
      torch.set_num_threads(TaskContext.get().cpus());
    } catch (LinkageError | RuntimeException e) {
      throw new SparkRanksException(
          Problem.NATIVE_LIBRARIES,
          ("executor %s cannot load the native libraries: %s; --jars and"
                  + " spark.executor.extraClassPath are the class path of the executors")
              .formatted(SparkEnv.get().executorId(), Failures.describe(e)),
          e);
    }
  }
}
