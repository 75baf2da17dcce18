// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.NoSuchFileException;
import org.junit.jupiter.api.Test;

class SampleExceptionTest {
  @Test
  void namesOfFilesCannotChangeALogOrATerminal() {
    String name = "a\nERROR b\u001b[2J\u202egnp";
    String escaped = "a\\nERROR b\\u001b[2J\\u202egnp";
    assertThat(new SampleException(3, 1, 2, name + " is missing"))
        .hasMessage("sample 3 of epoch 1, batch 2: " + escaped + " is missing");
    assertThat(new SampleException(3, 1, 2, 4, new NoSuchFileException(name)))
        .hasMessage(
            "sample 3 of epoch 1, batch 2, worker 4: java.nio.file.NoSuchFileException: "
                + escaped);
  }
}
