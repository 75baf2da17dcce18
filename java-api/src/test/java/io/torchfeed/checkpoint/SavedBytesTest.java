// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SavedBytesTest {
  @Test
  void aFileThatIsNotCompleteIsAnError(@TempDir Path folder) throws IOException {
    try (FileChannel file =
        FileChannel.open(
            folder.resolve("file"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.allocate(4));
      SavedBytes.requireSize(file, 4);
      assertThatIOException()
          .isThrownBy(() -> SavedBytes.requireSize(file, 5))
          .withMessage("5 bytes were to be written, the file has 4");
    }
  }
}
