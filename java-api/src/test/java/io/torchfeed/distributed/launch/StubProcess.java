// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A process that exits when a test requests it; when destroyed it exits with code 143. */
final class StubProcess extends Process {
  static final int TERMINATED = 143;

  private final @Nullable InputStream errorStream;
  private final CompletableFuture<Process> exit = new CompletableFuture<>();
  private int exitCode;
  private boolean ended;

  /** Creates a process; without a stream, getting its standard error fails. */
  StubProcess(@Nullable InputStream errorStream) {
    this.errorStream = errorStream;
  }

  static StubProcess saying(String error) {
    return new StubProcess(new ByteArrayInputStream(error.getBytes(StandardCharsets.UTF_8)));
  }

  /** Ends the process, and completes {@link #onExit}. */
  StubProcess exit(int code) {
    exitUnheard(code);
    exit.complete(this);
    return this;
  }

  /** Ends the process without completing {@link #onExit}. */
  synchronized StubProcess exitUnheard(int code) {
    exitCode = code;
    ended = true;
    notifyAll();
    return this;
  }

  @Override
  public CompletableFuture<Process> onExit() {
    return exit;
  }

  @Override
  public OutputStream getOutputStream() {
    return OutputStream.nullOutputStream();
  }

  @Override
  public InputStream getInputStream() {
    return InputStream.nullInputStream();
  }

  @Override
  public InputStream getErrorStream() {
    if (errorStream == null) {
      throw new IllegalStateException("no stream");
    }
    return errorStream;
  }

  @Override
  public synchronized int waitFor() throws InterruptedException {
    while (!ended) {
      wait();
    }
    return exitCode;
  }

  @Override
  public synchronized int exitValue() {
    if (!ended) {
      throw new IllegalThreadStateException("still running");
    }
    return exitCode;
  }

  @Override
  public synchronized boolean isAlive() {
    return !ended;
  }

  @Override
  public synchronized void destroy() {
    if (!ended) {
      exit(TERMINATED);
    }
  }
}
