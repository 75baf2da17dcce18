// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The program at the top of the README. */
class ReadmeTest {
  private static final Pattern JAVA_BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

  /** The code that the README omits: imports, the model and its data. */
  private static final String FRAME =
      """
      import static org.bytedeco.pytorch.global.torch.nll_loss;
      import io.torchfeed.data.Batch;
      import io.torchfeed.data.DataLoader;
      import io.torchfeed.data.TensorDataset;
      import io.torchfeed.distributed.training.DistributedDataParallel;
      import io.torchfeed.distributed.ProcessGroup;
      import io.torchfeed.sampler.order.ShuffledSampler;
      import org.bytedeco.javacpp.PointerScope;
      import org.bytedeco.pytorch.Module;
      import org.bytedeco.pytorch.Optimizer;
      import org.bytedeco.pytorch.Tensor;

      class Program {
        abstract static class Net extends Module {
          abstract Tensor forward(Tensor images);
        }

        static void run(Tensor images, Tensor labels, Net net, Optimizer optimizer) {
      %s
        }
      }
      """;

  @Test
  void theSampleProgramCompiles(@TempDir Path folder) throws IOException {
    Matcher block = JAVA_BLOCK.matcher(Files.readString(Path.of("..", "README.md")));
    assertThat(block.find()).isTrue();
    Path source = folder.resolve("Program.java");
    Files.writeString(source, FRAME.formatted(block.group(1)));
    StringWriter messages = new StringWriter();
    PrintWriter printer = new PrintWriter(messages);
    int errors =
        ToolProvider.findFirst("javac")
            .orElseThrow()
            .run(
                printer,
                printer,
                "-proc:none",
                "-d",
                folder.toString(),
                "-cp",
                classPath(),
                source.toString());
    assertThat(errors).as("%s", messages).isZero();
  }

  private static String classPath() {
    return System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
  }
}
