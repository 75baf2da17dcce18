// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.zip.CRC32C;

/**
 * The digests of the blocks of a file, whose bytes are added in order. A block may also be digested
 * alone, so that several threads read one file. One thread at a time adds bytes.
 */
public final class BlockSums {
  /** Ways to digest a file. */
  public enum Kind {
    /** Each 16 MiB, counted from the start of the file, has 8 hexadecimal digits of CRC-32C. */
    CRC32C("CRC-32C", 16L << 20, 8),

    /** The whole file is one block and has a SHA-256, as in files of earlier versions. */
    SHA256("SHA-256", Long.MAX_VALUE, 64);

    private final String title;
    private final long blockBytes;
    private final int digits;

    Kind(String title, long blockBytes, int digits) {
      this.title = title;
      this.blockBytes = blockBytes;
      this.digits = digits;
    }

    /**
     * Returns a name for messages.
     *
     * @param block number of the block, from 0 on
     * @param blocks how many the file has
     */
    public String describe(int block, int blocks) {
      return title + (blocks > 1 ? " from byte %d on".formatted(block * blockBytes) : "");
    }

    /** Returns the number of hexadecimal digits of a digest. */
    public int digits() {
      return digits;
    }

    /** Returns whether a text may be a digest. */
    public boolean isDigest(String text) {
      return text.matches("[0-9a-f]{" + digits + "}");
    }

    /** Returns the size of all blocks but the last one. */
    public long blockBytes() {
      return blockBytes;
    }

    /** Returns how many blocks a file has. */
    public long blocks(long bytes) {
      return bytes / blockBytes + (bytes % blockBytes == 0 ? 0 : 1);
    }
  }

  /** The digest of one block, which gets its bytes and then gives its hexadecimal digits. */
  private record Sum(Consumer<ByteBuffer> bytes, Supplier<String> hex) {
    static Sum of(Kind kind) {
      if (kind == Kind.CRC32C) {
        CRC32C crc = new CRC32C();
        return new Sum(crc::update, () -> HexFormat.of().toHexDigits((int) crc.getValue()));
      }
      MessageDigest sha = Sha256.start();
      return new Sum(sha::update, () -> Sha256.hex(sha));
    }
  }

  private final Kind kind;
  private final List<String> ended = new ArrayList<>();
  private Sum block;
  private long bytes; // of the block

  private BlockSums(Kind kind) {
    this.kind = kind;
    block = Sum.of(kind);
  }

  /** Returns the sums of no bytes yet, at the start of a block. */
  public static BlockSums of(Kind kind) {
    return new BlockSums(kind);
  }

  /** Returns how the bytes are digested. */
  public Kind kind() {
    return kind;
  }

  /** Adds all bytes that remain. */
  public void add(ByteBuffer piece) {
    while (piece.hasRemaining()) {
      int count = (int) Math.min(piece.remaining(), kind.blockBytes - bytes);
      block.bytes().accept(piece.slice(piece.position(), count));
      piece.position(piece.position() + count);
      bytes += count;
      if (bytes == kind.blockBytes) {
        end();
      }
    }
  }

  private void end() {
    ended.add(block.hex().get());
    block = Sum.of(kind);
    bytes = 0;
  }

  /** Ends the last block, and returns the digests of all blocks in hexadecimal digits. */
  public List<String> finish() {
    if (bytes > 0) {
      end();
    }
    return List.copyOf(ended);
  }
}
