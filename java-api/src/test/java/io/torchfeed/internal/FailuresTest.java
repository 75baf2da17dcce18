// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import org.junit.jupiter.api.Test;

class FailuresTest {
  private static final class Mute extends RuntimeException {
    private static final long serialVersionUID = 1L;

    @Override
    public String getMessage() {
      throw new UnsupportedOperationException("no message");
    }
  }

  @Test
  void aReasonDoesNotRepeatThePath() {
    assertThat(Failures.reason(new NoSuchFileException("x")))
        .isEqualTo("no such file or directory");
    assertThat(Failures.reason(new AccessDeniedException("x"))).isEqualTo("access denied");
    assertThat(Failures.reason(new NotDirectoryException("x"))).isEqualTo("it is not a directory");
    assertThat(Failures.reason(new FileAlreadyExistsException("x"))).isEqualTo("it already exists");
    assertThat(Failures.reason(new DirectoryNotEmptyException("x")))
        .isEqualTo("it is a directory that is not empty");
    assertThat(Failures.reason(new FileSystemLoopException("x")))
        .isEqualTo("its links form a loop");
    assertThat(Failures.reason(new FileSystemException("x", null, "Is a directory")))
        .isEqualTo("Is a directory");
  }

  @Test
  void aReasonIsNeverNull() {
    assertThat(Failures.reason(new EOFException())).isEqualTo("it ends prematurely");
    assertThat(Failures.reason(new IOException(" "))).isEqualTo("java.io.IOException");
    assertThat(Failures.reason(new FileSystemException("x")))
        .isEqualTo("java.nio.file.FileSystemException");
    assertThat(Failures.reason(new IOException("broken"))).isEqualTo("broken");
    assertThat(Failures.reason(new UncheckedIOException("outer", new IOException("inner"))))
        .isEqualTo("inner");
  }

  @Test
  void aMessageThatThrowsIsReplaced() {
    String text =
        Mute.class.getName()
            + ", whose message cannot be read because of a"
            + " java.lang.UnsupportedOperationException";
    assertThat(Failures.reason(new Mute())).isEqualTo(text);
    assertThat(Failures.describe(new Mute())).isEqualTo(text);
    assertThat(Failures.describe(new IOException("broken")))
        .isEqualTo("java.io.IOException: broken");
  }
}
