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

  /** What the README leaves to the reader: imports, and what is trained on what. */
  private static final String FRAME =
      """
      import static org.bytedeco.pytorch.global.torch.nll_loss;
      import io.torchfeed.data.*;
      import io.torchfeed.distributed.*;
      import io.torchfeed.memory.*;
      import io.torchfeed.sampler.*;
      import java.util.List;
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

      %s
      }
      """;

  @Test
  void compiles(@TempDir Path folder) throws IOException {
    Matcher block = JAVA_BLOCK.matcher(Files.readString(Path.of("..", "README.md")));
    assertThat(block.find()).isTrue();
    String loop = block.group(1);
    assertThat(block.find()).isTrue();
    Path source = folder.resolve("Program.java");
    Files.writeString(source, FRAME.formatted(loop, block.group(1)));
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
