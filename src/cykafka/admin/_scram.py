"""SCRAM credentials of users; passwords and salts never show in a repr."""

import dataclasses
from typing import Any

from cykafka._model import OrderedEnum


class ScramMechanism(OrderedEnum):
    """SCRAM mechanism."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


@dataclasses.dataclass(unsafe_hash=True)
class ScramCredentialInfo:
    """A credential without its secret.

    Args:
        mechanism: SCRAM mechanism.
        iterations: Number of hash iterations.
    """

    mechanism: ScramMechanism
    iterations: int


@dataclasses.dataclass(eq=False)
class UserScramCredentialsDescription:
    """The credentials that a user has.

    Args:
        user: User name.
        scram_credential_infos: One for each mechanism.
    """

    user: str
    scram_credential_infos: list[ScramCredentialInfo]


@dataclasses.dataclass(eq=False)
class UserScramCredentialAlteration:
    """Base class of changes to a user's credentials.

    Args:
        user: User name.
    """

    user: str

    def _checked_user(self) -> str:
        if not isinstance(self.user, str):
            raise TypeError(f"user must be str, not {type(self.user).__name__}")
        if not self.user:
            raise ValueError("user must not be empty")
        return self.user


@dataclasses.dataclass(eq=False)
class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """Set a credential.

    Args:
        user: User name.
        scram_credential_info: Mechanism and iterations.
        password: The password.
        salt: The salt; a random one if None.
    """

    scram_credential_info: ScramCredentialInfo
    password: bytes = dataclasses.field(repr=False)
    salt: bytes | None = dataclasses.field(default=None, repr=False)

    def _to_native(self) -> tuple[Any, ...]:
        """Return the tuple that the compiled core takes.

        Raises:
            TypeError, ValueError: If a value is wrong.
        """
        user = self._checked_user()
        info = self.scram_credential_info
        if not isinstance(info, ScramCredentialInfo):
            raise TypeError(f"scram_credential_info must be a ScramCredentialInfo, not {type(info).__name__}")
        if not isinstance(info.iterations, int):
            raise TypeError(f"iterations must be int, not {type(info.iterations).__name__}")
        if info.iterations < 1:
            raise ValueError(f"iterations must be positive, not {info.iterations}")
        mechanism = _checked_mechanism(info.mechanism)
        for what, secret in (("password", self.password), ("salt", self.salt)):
            if secret is None and what == "salt":
                continue
            if not isinstance(secret, bytes):
                raise TypeError(f"{what} must be bytes, not {type(secret).__name__}")
            if not secret:
                raise ValueError(f"{what} must not be empty")
        return (user, mechanism, info.iterations, self.password, self.salt)


@dataclasses.dataclass(eq=False)
class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """Delete a credential.

    Args:
        user: User name.
        mechanism: Which one.
    """

    mechanism: ScramMechanism

    def _to_native(self) -> tuple[Any, ...]:
        """Return the tuple that the compiled core takes.

        Raises:
            TypeError, ValueError: If a value is wrong.
        """
        return (self._checked_user(), _checked_mechanism(self.mechanism))


def _checked_mechanism(mechanism: Any) -> int:
    if not isinstance(mechanism, ScramMechanism):
        raise TypeError(f"mechanism must be a ScramMechanism, not {type(mechanism).__name__}")
    return int(mechanism.value)
