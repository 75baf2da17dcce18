// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PythonProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Adds up a tensor of this Java rank and one of a Python rank, which needs torch 2.10. */
final class JavaAndPython {
  private static final String PYTHON =
      """
      import torch, torch.distributed as dist
      dist.init_process_group("gloo")
      tensor = torch.tensor([10.0, 20.0])
      dist.all_reduce(tensor)
      print("Python:", tensor.tolist())
      dist.destroy_process_group()
      """;

  public static void main(String[] args) throws IOException, InterruptedException {
    String interpreter = args.length > 0 ? args[0] : "python3";
    Master master = Master.listen("127.0.0.1"); // a free port
    ProcessBuilder python = new ProcessBuilder(interpreter, "-c", PYTHON).inheritIO();
    python
        .environment()
        .putAll(
            Map.of(
                "RANK", "1",
                "WORLD_SIZE", "2",
                "MASTER_ADDR", master.host(),
                "MASTER_PORT", String.valueOf(master.port()),
                "GLOO_SOCKET_IFNAME", "lo"));
    Process other = python.start();
    GroupOptions limit = GroupOptions.ofTimeout(Duration.ofMinutes(2));
    try (var group = PythonProcessGroup.join(master, Part.rank(0).of(2), limit)) {
      Tensor tensor = torch.tensor(1.0f, 2.0f);
      group.allReduce(tensor, ReduceOp.SUM);
      float[] sums = new float[2];
      tensor.data_ptr_float().get(sums);
      System.out.println("Java: " + Arrays.toString(sums));
    }
    System.exit(other.waitFor());
  }
}
