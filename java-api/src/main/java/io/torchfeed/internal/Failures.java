// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.EOFException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/**
 * Descriptions of throwables for messages, robust against misbehaving methods of the throwables.
 *
 * <p>{@code getMessage} may return null, repeat the path that the message already names, or throw;
 * building a message from it must not replace the failure being described.
 */
public final class Failures {
  private Failures() {}

  /**
   * Describes a failure as {@link Throwable#toString} does, in {@link Quotes#printable} characters:
   * it may quote the name of a file.
   *
   * @param failure any failure
   * @return the class and the message; if a method of the failure throws, the class and the reason
   *     why there is no message
   */
  public static String describe(Throwable failure) {
    try {
      return Quotes.printable(String.valueOf(failure));
    } catch (Throwable e) {
      return unreadable(failure, e);
    }
  }

  /**
   * Returns the reason for a failure, to end a message that names the file or the operation.
   *
   * @param failure any failure; an {@link UncheckedIOException} is replaced by its cause
   * @return the reason, never empty, without the path of a {@link FileSystemException}
   */
  public static String reason(Throwable failure) {
    try {
      Throwable named =
          failure instanceof UncheckedIOException && failure.getCause() != null
              ? failure.getCause()
              : failure;
      String given =
          named instanceof FileSystemException e ? e.getReason() : named.getLocalizedMessage();
      return given == null || given.isBlank() ? reasonOf(named) : given;
    } catch (Throwable e) {
      return unreadable(failure, e);
    }
  }

  /** Returns the reason implied by the class of a failure without a message. */
  private static String reasonOf(Throwable failure) {
    if (failure instanceof NoSuchFileException) {
      return "no such file or directory";
    } else if (failure instanceof AccessDeniedException) {
      return "access denied";
    } else if (failure instanceof NotDirectoryException) {
      return "it is not a directory";
    } else if (failure instanceof FileAlreadyExistsException) {
      return "it already exists";
    } else if (failure instanceof DirectoryNotEmptyException) {
      return "it is a directory that is not empty";
    } else if (failure instanceof FileSystemLoopException) {
      return "its links form a loop";
    } else if (failure instanceof EOFException) {
      return "it ends prematurely";
    } else if (failure instanceof ClosedByInterruptException) {
      return "the thread was interrupted";
    }
    return failure.getClass().getName();
  }

  private static String unreadable(Throwable failure, Throwable thrown) {
    return "%s, whose message cannot be read because of a %s"
        .formatted(failure.getClass().getName(), thrown.getClass().getName());
  }
}
