// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * A proof by both ends of a connection that they know a secret, which is not sent: each sends
 * random bytes, and the HMAC-SHA-256 of its role and the bytes of both. It protects from strangers,
 * not from one who can change the messages of others.
 */
public final class SecretHandshake {
  /** The random bytes of the end that listens, sent first. */
  public static final int CHALLENGE_BYTES = 32;

  /** The answer of the end that connects: its random bytes, and its proof. */
  public static final int ANSWER_BYTES = 64;

  /** The last word of the end that listens: 1 and its proof, or 0. */
  public static final int VERDICT_BYTES = 33;

  private static final String ALGORITHM = "HmacSHA256";
  private static final SecureRandom RANDOM = new SecureRandom();

  private final byte[] secret;
  private final byte[] challenge;

  private SecretHandshake(byte[] secret, byte[] challenge) {
    this.secret = secret;
    this.challenge = challenge;
  }

  /** Begins at the end that listens. */
  public static SecretHandshake begin(byte[] secret) {
    return new SecretHandshake(secret, random(CHALLENGE_BYTES));
  }

  /** Returns random bytes, such as a secret. */
  public static byte[] random(int count) {
    byte[] bytes = new byte[count];
    RANDOM.nextBytes(bytes);
    return bytes;
  }

  /** Returns the bytes that are sent first. */
  public byte[] challenge() {
    return challenge.clone();
  }

  /** Returns the last word: the proof, or a refusal if the answer is of one without the secret. */
  public byte[] verdict(byte[] answer) {
    byte[] nonce = Arrays.copyOf(answer, CHALLENGE_BYTES);
    byte[] proof = Arrays.copyOfRange(answer, CHALLENGE_BYTES, answer.length);
    return MessageDigest.isEqual(proof, proof("connects", nonce))
        ? join(new byte[] {1}, proof("listens", nonce))
        : new byte[] {0};
  }

  /** Returns whether a {@link #verdict} accepts the other end. */
  public static boolean isAccepted(byte[] verdict) {
    return verdict.length == VERDICT_BYTES;
  }

  /**
   * Proves the secret at the end that connects, and waits for the proof of the other one.
   *
   * @return null, or why the other end is not to be trusted
   */
  public static @Nullable String connect(byte[] secret, DataInputStream in, OutputStream out)
      throws IOException {
    byte[] challenge = new byte[CHALLENGE_BYTES];
    in.readFully(challenge);
    SecretHandshake own = new SecretHandshake(secret, challenge);
    byte[] nonce = random(CHALLENGE_BYTES);
    out.write(join(nonce, own.proof("connects", nonce)));
    out.flush();
    if (in.readByte() != 1) {
      return "it has another secret";
    }
    byte[] proof = new byte[VERDICT_BYTES - 1];
    in.readFully(proof);
    return MessageDigest.isEqual(proof, own.proof("listens", nonce))
        ? null
        : "it does not know the secret";
  }

  /** Asks for the proof of the other end, and waits for it; returns whether it knows the secret. */
  public static boolean listen(byte[] secret, DataInputStream in, OutputStream out)
      throws IOException {
    SecretHandshake own = begin(secret);
    out.write(own.challenge);
    out.flush();
    byte[] answer = new byte[ANSWER_BYTES];
    in.readFully(answer);
    byte[] verdict = own.verdict(answer);
    out.write(verdict);
    out.flush();
    return isAccepted(verdict);
  }

  private byte[] proof(String role, byte[] nonce) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret, ALGORITHM));
      mac.update(("torchfeed " + role).getBytes(US_ASCII));
      mac.update(challenge);
      return mac.doFinal(nonce);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JVM has no " + ALGORITHM, e); // each has one
    }
  }

  private static byte[] join(byte[] first, byte[] second) {
    byte[] both = Arrays.copyOf(first, first.length + second.length);
    System.arraycopy(second, 0, both, first.length, second.length);
    return both;
  }
}
