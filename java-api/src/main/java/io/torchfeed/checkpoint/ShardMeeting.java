// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The ranks that write one checkpoint, each a share; they find each other by files in its folder,
 * without their group, so that training continues meanwhile. A rank that gives up tells the others.
 */
final class ShardMeeting {
  private static final String GIVEN_UP = "given-up";
  private static final String LAYOUT = "layout-of-rank-";
  private static final String AGREED = "agreed";
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private final CheckpointFolder folder;
  private final long step;
  private final Path partial;
  private final Part rank;
  private final long limitNanos;

  ShardMeeting(CheckpointFolder folder, long step, Shards shards) {
    this.folder = folder;
    this.step = step;
    this.partial = folder.partial(step, shards.run());
    this.rank = shards.part();
    this.limitNanos = shards.limit().toNanos();
  }

  private static String nameOf(int rank) {
    return "share-of-rank-" + rank;
  }

  private static String layoutOf(int rank) {
    return LAYOUT + rank;
  }

  /**
   * Waits until rank 0 has found the state of all ranks equal.
   *
   * @throws IOException if one differs; the message names both sides
   */
  void agree(ShardLayout layout) throws IOException {
    write(layoutOf(rank.rank()), layout.toJson());
    long deadline = System.nanoTime() + limitNanos;
    if (rank.rank() == 0) {
      for (int other = 1; other < rank.worldSize(); other++) {
        String missing = "rank %d has not written its share".formatted(other);
        requireAlike(other, layoutAt(layoutOf(other), missing, deadline), layout);
      }
      requireNoMore(layout);
      write(AGREED, layout.toJson());
    } else {
      ShardLayout first = layoutAt(AGREED, "rank 0 has not compared the states", deadline);
      requireAlike(rank.rank(), layout, first);
    }
  }

  private ShardLayout layoutAt(String name, String missing, long deadline) throws IOException {
    Optional<String> text = read(name);
    while (text.isEmpty()) {
      waitFor(missing, deadline);
      text = read(name);
    }
    return ShardLayout.parse(text.get());
  }

  private static void requireAlike(int other, ShardLayout layout, ShardLayout ofFirst)
      throws IOException {
    Optional<String> difference = layout.difference(other, ofFirst);
    if (difference.isPresent()) {
      throw new IOException(difference.get());
    }
  }

  /** Checks that no rank has come that has a larger world size than rank 0. */
  private void requireNoMore(ShardLayout layout) throws IOException {
    try (DirectoryStream<Path> layouts = Files.newDirectoryStream(partial, LAYOUT + "*")) {
      for (Path each : layouts) {
        String other = String.valueOf(each.getFileName()).substring(LAYOUT.length());
        if (other.matches("\\d{1,9}")) { // not one that is being written
          ShardLayout found = ShardLayout.parse(Files.readString(each));
          requireAlike(Integer.parseInt(other), found, layout);
        }
      }
    }
  }

  /** Tells rank 0 which files this rank has written. */
  void put(Manifest share) throws IOException {
    write(nameOf(rank.rank()), share.toJson());
  }

  private void write(String name, String text) throws IOException {
    FileReplacement.write(partial.resolve(name), StandardCharsets.UTF_8.encode(text));
  }

  /** Waits for the shares of all ranks, and returns them by rank. */
  List<Manifest> all() throws IOException {
    List<Manifest> shares = new ArrayList<>();
    long deadline = System.nanoTime() + limitNanos;
    for (int other = 0; other < rank.worldSize(); other++) {
      Optional<String> share = read(nameOf(other));
      while (share.isEmpty()) {
        waitFor("rank %d has not written its share".formatted(other), deadline);
        share = read(nameOf(other));
      }
      shares.add(Manifest.parse(share.get()));
    }
    return shares;
  }

  /** Deletes the messages of the ranks. */
  void clear() throws IOException {
    for (int other = 0; other < rank.worldSize(); other++) {
      Files.delete(partial.resolve(nameOf(other)));
      Files.delete(partial.resolve(layoutOf(other)));
    }
    Files.delete(partial.resolve(AGREED));
  }

  /** Waits until rank 0 has given the folder its name, and has named it as the latest. */
  void awaitPublished() throws IOException {
    long deadline = System.nanoTime() + limitNanos;
    while (Files.exists(partial)) {
      waitFor("rank 0 has not completed it", deadline);
    }
    while (!folder.isLatest(step)) {
      if (!Files.exists(folder.step(step))) {
        throw new IOException("rank 0 could not complete it");
      }
      waitFor("rank 0 has not completed it", deadline);
    }
  }

  private void waitFor(String missing, long deadline) throws IOException {
    Optional<String> reason = read(GIVEN_UP);
    if (reason.isPresent()) {
      throw new IOException(reason.get());
    }
    if (System.nanoTime() - deadline >= 0) {
      throw new IOException(
          "%s within %d s".formatted(missing, TimeUnit.NANOSECONDS.toSeconds(limitNanos)));
    }
    LockSupport.parkNanos(POLL_NANOS);
  }

  private Optional<String> read(String name) throws IOException {
    try {
      return Optional.of(Files.readString(partial.resolve(name)));
    } catch (NoSuchFileException e) {
      return Optional.empty();
    }
  }

  /** Tells the others that there will be no checkpoint, unless one of them has said so before. */
  void giveUp(Throwable cause) {
    try {
      if (Files.exists(partial) && read(GIVEN_UP).isEmpty()) {
        String reason = cause instanceof IOException e ? Failures.reason(e) : cause.toString();
        write(GIVEN_UP, "%s could not write its share: %s".formatted(rank, reason));
      }
    } catch (IOException e) {
      cause.addSuppressed(e); // the others notice it at their limit
    }
  }
}
